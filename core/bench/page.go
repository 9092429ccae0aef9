package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/clawhost/clawhost/plugins/webchat/webchattest"
)

// page is a page of the web chat: it posts messages, and reads what is shown.
type page struct {
	address string
	own     *webchattest.Page
	client  *http.Client
	answers chan int // the numbers of answers, as they are shown; closed at the end of the stream
	end     context.CancelFunc
}

// openPage connects to the web chat.
func openPage(address, token string) (*page, error) {
	ctx, end := context.WithCancel(context.Background())
	own := webchattest.New(token)
	p := &page{address: address, own: own, client: &http.Client{Transport: own}, answers: make(chan int, 1), end: end}
	response, err := p.request(ctx, http.MethodGet, "/api/events", nil)
	if err != nil {
		end()
		return nil, err
	}
	go func() { // ended by close
		defer close(p.answers)
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			// The person's own text is shown as well.
			if number, ok := numberIn(lines.Bytes()); ok && bytes.Contains(lines.Bytes(), []byte("echo: ")) {
				select {
				case p.answers <- number:
				case <-ctx.Done():
				}
			}
		}
	}()
	return p, nil
}

func (p *page) request(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.address+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the web chat answers %s with %s", path, response.Status)
	}
	return response, nil
}

// say posts a message in a conversation, of which the first is the one without an id, and returns when it started.
func (p *page) say(conversation int, text string) (time.Time, error) {
	number, _ := numberIn([]byte(text))
	message, err := json.Marshal(map[string]string{"id": pageID(number), "conversation": conversationID(conversation), "text": text})
	if err != nil {
		return time.Time{}, err
	}
	at := time.Now()
	response, err := p.request(context.Background(), http.MethodPost, "/api/messages", strings.NewReader(string(message)))
	if err != nil {
		return at, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return at, err
}

// types posts that the person types in a conversation. A web chat of an earlier build does not know that.
func (p *page) types(conversation int) {
	at := fmt.Sprintf(`{"conversation": %q}`, conversationID(conversation))
	if response, err := p.request(context.Background(), http.MethodPost, "/api/typing", strings.NewReader(at)); err == nil {
		_ = response.Body.Close()
	}
}

// pageID is an id as pages make them.
func pageID(number int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", number) }

func conversationID(number int) string {
	if number == 1 {
		return ""
	}
	return pageID(number)
}

// await waits until an answer is shown.
func (p *page) await(number int) error {
	for {
		select {
		case shown, ok := <-p.answers:
			if !ok {
				return fmt.Errorf("the web chat shows nothing any more")
			}
			if shown == number {
				return nil
			}
		case <-time.After(patience):
			return fmt.Errorf("answer %d is not shown", number)
		}
	}
}

// close closes the page.
func (p *page) close() {
	p.end()
	for range p.answers {
	}
	p.own.Close()
}
