//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// TestStatePage drives the state page of a real host in Chromium. What the agent does is the stand-in's.
// Behaviour: state-page.
func TestStatePage(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-this-test"
	listen := free(t)
	h := newHost(t, setup{
		command: filepath.Join(os.Getenv(binVariable), "claude-stub"),
		access:  fmt.Sprintf("owners = [\"telegram:%d\"]\n  dm = \"pairing\"", ownerID),
		plugins: fmt.Sprintf("admin {\n  listen = %q\n  token  = %q\n}", listen, token),
	})
	h.start()
	owner, stranger := h.owner(), h.person(2000)
	follow := map[string]func(){
		"talk": func() { owner.say("hello"); owner.awaits("an answer", func(telegramtest.Message) bool { return true }) },
		"ask": func() {
			owner.say(`[[stub {"tool": "touch $HOME/tea", "ask": true, "answer": "There is tea."}]] make tea`)
		},
		"wait": func() { owner.say("and then a cake") },
		"cake": func() {
			owner.awaits("the answer", func(m telegramtest.Message) bool { return strings.Contains(m.Text, "and then a cake") })
		},
		"knock": func() { stranger.say("let me in") },
		"lose":  func() { h.clawhost("send", "-to", "telegram:<img src=x onerror=window.attacked=1>", "<b>lost</b>") },
		"let in": func() {
			stranger.awaits("welcome", func(m telegramtest.Message) bool { return welcome.MatchString(m.Text) })
		},
	}
	browser := exec.CommandContext(h.ctx, "node", "page.mjs", "http://"+listen+"/", token)
	browser.Stderr = t.Output()
	send, err := browser.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := browser.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		t.Log(lines.Text())
		if do := follow[lines.Text()]; do != nil {
			do()
			if _, err := io.WriteString(send, "done\n"); err != nil {
				t.Error(err)
			}
		}
	}
	if err := browser.Wait(); err != nil {
		t.Error(err)
	}
}

var welcome = regexp.MustCompile(`^Welcome`)

// free returns an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
