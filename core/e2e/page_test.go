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
// Behaviour: state-page, state-page-answer, state-page-live, state-page-latency, ask-operator.
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
		"write": func() {
			script := `[[stub {"answer": "Once <img src=x onerror=window.attacked=1>", "pause": "until [ -e $HOME/word$WORD ]; do sleep 0.01; done"}]]`
			owner.say(script)
		},
		"word 2": func() { h.touch("word2") },
		"word 3": func() { h.touch("word3") },
		"word 4": func() { h.touch("word4") },
		"written": func() {
			owner.awaits("the whole", func(m telegramtest.Message) bool { return strings.HasPrefix(m.Text, "Once <img src=x onerror") })
		},
		"allowed": func() {
			owner.awaits("who has allowed it", func(m telegramtest.Message) bool {
				return strings.HasPrefix(m.Text, "✅ Allowed once by an operator (the state page): Bash") && len(m.Buttons) == 0
			})
			owner.shows("There is tea.")
			if _, err := os.Stat(filepath.Join(h.dir, "tea")); err != nil {
				t.Error(err)
			}
		},
		"denied": func() {
			owner.awaits("who has denied it", func(m telegramtest.Message) bool {
				return strings.HasPrefix(m.Text, "❌ an operator (the state page) denied: Bash") && strings.HasSuffix(m.Text, "there is <b>no</b> kettle")
			})
		},
		"choose": func() {
			owner.say(`[[stub {"say": "$OUTPUT", "questions": [
				{"question": "Which tea?", "options": [{"label": "Black", "description": "from Assam"}, {"label": "Green", "description": ""}]},
				{"question": "What with it?", "multiSelect": true, "options": [{"label": "Milk", "description": ""}, {"label": "Sugar", "description": ""}, {"label": "Lemon", "description": ""}]},
				{"question": "When?", "options": [{"label": "Now", "description": ""}, {"label": "Later", "description": ""}]}]}]]`)
		},
		"chosen": func() {
			for _, said := range []string{"Green, said an operator (the state page).", "Milk, Lemon, said an operator (the state page).", "when the <i>bell</i> rings, said an operator (the state page)."} {
				owner.awaits(said, func(m telegramtest.Message) bool { return strings.HasSuffix(m.Text, said) && len(m.Buttons) == 0 })
			}
			owner.awaits("what Claude got", func(m telegramtest.Message) bool {
				return strings.Contains(m.Text, "Green") && strings.Contains(m.Text, "Milk, Lemon") && !strings.Contains(m.Text, "said an operator")
			})
		},
		"answer in the chat": func() {
			owner.press(owner.questioned("Claude asks to use Bash."), "No")
			owner.awaits("who has denied it", func(m telegramtest.Message) bool { return strings.Contains(m.Text, "User1000 denied") })
		},
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

// touch makes an empty file in the home of the host.
func (h *host) touch(name string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), nil, 0o600); err != nil {
		h.Error(err)
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
