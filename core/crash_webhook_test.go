package core_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// The same with programs that send signed requests: each is sent again until it is answered with success, and then once more.

const (
	hookSenders = 3
	hookSecret  = "a secret of the crash test"
)

// Behaviour: webhook-once.
func TestCrashWithWebhooks(t *testing.T) {
	t.Parallel()
	kills := 8
	if long() {
		kills = 150
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	b := newBoard(t)
	address := freeAddress(t)
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-webhook", points: []string{"begun", "result", "sent", "completed"},
		config: fmt.Sprintf(`
queue { receipt = false }
reply { stream = "off" }
access { dm = "open" }
plugin "board" {
  config { board = %q }
}
plugin "webhook" {
  grants = ["board"]
  config {
    listen = %q
    hooks = {
      chat0 = {
        form = "github", secret = "%[3]s chat0", to = "board:chat0", template = "{{.text}}"
      }
      chat1 = {
        form = "github", secret = "%[3]s chat1", to = "board:chat1", template = "{{.text}}"
      }
      chat2 = {
        form = "github", secret = "%[3]s chat2", to = "board:group:chat2", template = "{{.text}}"
      }
    }
  }
}
`, b.address, address, hookSecret),
	})
	defer w.close(t)
	ctx, stop := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	taken := make([]int, hookSenders)
	for i := range taken {
		senders.Go(func() { taken[i] = b.sendHooks(ctx, t, "http://"+address, fmt.Sprint("chat", i)) })
	}
	for range kills {
		w.kill(t)
	}
	stop()
	w.keepUp(t, senders.Wait)
	w.end(t)
	all := 0
	for i, n := range taken {
		chat := fmt.Sprint("chat", i)
		all += n
		if n == 0 {
			t.Errorf("nothing was taken for %s", chat)
		}
		for k := range n {
			if got := b.count(chat, hookAnswer(k)); got != 1 {
				t.Errorf("delivery %d of %s is answered %d times:\n%s", k, chat, got, strings.Join(b.texts()[chat], "\n--\n"))
			}
		}
	}
	w.report(t, fmt.Sprintf("%d deliveries: 0 lost, 0 answered twice", all), b.repeats)
}

func hookAnswer(n int) string { return fmt.Sprintf("The end of delivery %d.", n) }

// sendHooks sends deliveries to a chat, one after the other, until ctx ends. Each has its answer before the next one is sent. It
// returns how many were sent.
func (b *board) sendHooks(ctx context.Context, t *testing.T, url, chat string) int {
	return b.sendTurns(ctx, t, url, chat, func(n int) string { return fmt.Sprintf(`[[stub {"answer": %q}]] %d`, hookAnswer(n), n) })
}

// sendTurns does so with these texts, which have the answers of hookAnswer.
func (b *board) sendTurns(ctx context.Context, t *testing.T, url, chat string, text func(n int) string) int {
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return n
		}
		body := fmt.Sprintf(`{"text": %q}`, text(n))
		for range 2 {
			if err := deliver(url, chat, body); err != nil {
				t.Errorf("delivery %d of %s: %v", n, chat, err)
				return n
			}
		}
		if !b.awaitText(chat, hookAnswer(n)) {
			t.Errorf("delivery %d of %s is not answered", n, chat)
			return n + 1
		}
	}
}

// deliver sends a request that is signed with the secret of a chat's hook until it is answered with success.
func deliver(url, chat, body string) error {
	mac := hmac.New(sha256.New, []byte(hookSecret+" "+chat))
	mac.Write([]byte(body))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(drainTime)
	client := http.Client{Timeout: 15 * time.Second}
	for {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/"+chat, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Close = true
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Github-Event", "issues")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer, err := client.Do(r)
		if err == nil {
			answer.Body.Close()
			switch answer.StatusCode {
			case http.StatusAccepted, http.StatusOK:
				return nil
			case http.StatusServiceUnavailable:
			default:
				return fmt.Errorf("answered with %s", answer.Status)
			}
		}
		select {
		case <-again.C:
		case <-late:
			return fmt.Errorf("not taken: %w", err)
		}
	}
}

// count returns how often a text hangs in a chat.
func (b *board) count(chat, text string) (n int) {
	for _, hanging := range b.texts()[chat] {
		n += strings.Count(hanging, text)
	}
	return n
}

// awaitText returns once a text hangs in a chat, or false when time is up.
func (b *board) awaitText(chat, text string) bool {
	late := false
	timer := time.AfterFunc(drainTime, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		late = true
		b.changed.Broadcast()
	})
	defer timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !late {
		for _, h := range b.hanging {
			if h.Chat == chat && strings.Contains(h.Text, text) {
				return true
			}
		}
		b.changed.Wait()
	}
	return false
}
