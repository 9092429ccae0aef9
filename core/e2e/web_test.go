//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/admin"
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
	page := webPage{host: h, url: address[1], token: address[2]}

	owner := h.owner()
	owner.talks("my number on Telegram is 4711")
	page.talks("which number?")
	h.forgot("my number on Telegram is 4711")
	page.talks("and now?")
	h.remembers("which number?", "and now?")

	stranger := webPage{host: h, url: page.url, token: strings.Repeat("x", len(page.token))}
	if status, _ := stranger.post("let me in"); status != http.StatusUnauthorized {
		t.Errorf("a post with a wrong token gets %d", status)
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

// webTransport is the tests' own: a server of httptest that is closed closes the idle connections of the default one.
var webTransport = &http.Transport{}

// webPage is a page of the web chat.
type webPage struct {
	*host
	url, token string
}

func (p webPage) request(method, path, body string) *http.Response {
	p.Helper()
	request, err := http.NewRequestWithContext(p.ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: webTransport}).Do(request)
	if err != nil {
		p.Fatal(err)
	}
	return response
}

// post writes a message.
func (p webPage) post(text string) (status int, answer string) {
	p.Helper()
	body, _ := json.Marshal(map[string]string{"id": uuid.NewString(), "text": text}) // strings always encode
	response := p.request("POST", "/api/messages", string(body))
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
	stream := p.request("GET", "/api/events?after=0", "")
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
