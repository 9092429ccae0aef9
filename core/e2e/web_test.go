//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
)

// The web chat of a host that also has Telegram: one process each, one agent, two conversations.
func TestWebChat(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{
		access: `owners = ["telegram:1000", "webchat:local"]`,
		plugins: `
plugin "webchat" {
  config {
    listen = "127.0.0.1:0"
  }
}`,
	})
	h.start()
	h.wrote(h.out, 0, "#token=")
	address := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=(\S+)`).FindStringSubmatch(h.out.String())
	if address == nil {
		t.Fatalf("the host said %q, want the web chat's address", h.out)
	}
	page := newWebPage(h, address[1], address[2])

	owner := h.owner()
	owner.talks("my number on Telegram is 4711")
	page.talks("which number?")
	h.forgot("my number on Telegram is 4711")
	page.talks("and now?")
	h.remembers("which number?", "and now?")

	stranger := newWebPage(h, page.url, strings.Repeat("x", len(page.token)))
	if _, err := stranger.request("POST", "/api/messages", "{}"); !errors.Is(err, webchattest.ErrStranger) {
		t.Errorf("a page with another token takes the host for its own: %v", err)
	}
	if strings.Contains(h.log.String(), page.token) {
		t.Error("the web chat's token is in the log")
	}
	var plugins []admin.Plugin
	h.show(&plugins, "plugin", "list")
	for _, p := range plugins {
		if p.State != "running" || p.PID == 0 {
			t.Errorf("plugin %s is %s %s", p.Name, p.State, p.Detail)
		}
	}
	owner.silent()
}

// webPage is a page of the web chat.
type webPage struct {
	*host
	url, token string
	page       *webchattest.Page
}

func newWebPage(h *host, url, token string) webPage {
	page := webchattest.New(token)
	h.Cleanup(page.Close)
	return webPage{h, url, token, page}
}

func (p webPage) request(method, path, body string) (*http.Response, error) {
	p.Helper()
	request, err := http.NewRequestWithContext(p.ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	return (&http.Client{Transport: p.page}).Do(request)
}

// post writes a message.
func (p webPage) post(text string) (status int, answer string) {
	p.Helper()
	body, _ := json.Marshal(map[string]string{"id": uuid.NewString(), "text": text}) // strings always encode
	response, err := p.request("POST", "/api/messages", string(body))
	if err != nil {
		p.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// talks writes a message and waits for its echo on the page's stream.
func (p webPage) talks(text string) {
	p.Helper()
	if status, answer := p.post(text); status != http.StatusOK {
		p.Fatalf("the page's post got %d %s", status, answer)
	}
	stream, err := p.request("GET", "/api/events?after=0", "")
	if err != nil {
		p.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		var message struct{ From, HTML string }
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found || json.Unmarshal([]byte(data), &message) != nil || message.From != "agent" {
			continue
		}
		if strings.Contains(message.HTML, "echo: ") && strings.Contains(message.HTML, "[Web chat ") && strings.Contains(message.HTML, "] "+text) {
			return
		}
	}
	p.Fatalf("the page has no answer to %q: %v", text, lines.Err())
}
