//go:build e2e

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// TestBrowser drives the page in Chromium, against a host that answers each message with its own text.
func TestBrowser(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	heard := make(chan string, 100)
	hear := func(_ context.Context, e chat.Event) (chat.Verdict, error) {
		if m, ok := e.Body.(chat.Message); ok {
			heard <- m.Text
		}
		return chat.Accepted, nil
	}
	b := start(t, dir, hear)
	listen := strings.TrimPrefix(b.base, "http://")
	hangUp := echo(ctx, t, b, heard)

	browser := exec.CommandContext(ctx, "node", "e2e/chat.mjs", b.base+"/#token="+b.token)
	browser.Env = append(os.Environ(), "RIG=1")
	browser.Stderr = t.Output()
	tell, err := browser.StdinPipe()
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
		switch lines.Text() {
		case "stop":
			hangUp()
			b.stop()
		case "start":
			b = startAt(t, dir, listen, hear)
			hangUp = echo(ctx, t, b, heard)
		default:
			continue
		}
		if _, err := io.WriteString(tell, "done\n"); err != nil {
			t.Error(err)
		}
	}
	if err := browser.Wait(); err != nil {
		t.Error(err)
	}
	hangUp()
}

// echo answers what is heard until it is hung up.
func echo(ctx context.Context, t *testing.T, b *bundle, heard <-chan string) (hangUp func()) {
	ctx, cancel := context.WithCancel(ctx)
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			select {
			case text := <-heard:
				if _, err := b.Send(ctx, chat.Outgoing{Key: uuid.NewString(), To: local, Text: text}); err != nil {
					t.Errorf("answer: %v", err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		answering.Wait()
	}
}
