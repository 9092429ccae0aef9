package sdk_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// fileChannel offers files by their tokens, and submits one message.
type fileChannel struct {
	plainChannel
	event chat.Event

	mu      sync.Mutex
	fetched []chat.FileToken
}

func (c *fileChannel) Run(ctx context.Context, in sdk.Inbox) error {
	if _, err := in.Submit(ctx, c.event); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (c *fileChannel) FetchFile(_ context.Context, token chat.FileToken, most int64) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched = append(c.fetched, token)
	switch {
	case most <= 0:
		return nil, errors.New("no one wants it")
	case token == "gone":
		return nil, &chat.FileError{Problem: "is gone", Err: errors.New("404")}
	case token == "busy":
		return nil, &chat.Failure{Reason: chat.RateLimited, RetryAfter: time.Minute}
	case token == "broken":
		return io.NopCloser(io.MultiReader(strings.NewReader("half of"), io.Reader(breaks{}))), nil
	case token == "panic":
		panic("oh")
	case token == "large":
		return io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20))), nil
	}
	return io.NopCloser(strings.NewReader("the file " + string(token))), nil
}

func (c *fileChannel) tokens() []chat.FileToken {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.fetched)
}

type breaks struct{}

func (breaks) Read([]byte) (int, error) { return 0, errors.New("cut off") }

func withFiles() chat.Event {
	event := message("1", "look")
	event.Body = chat.Message{
		ID: "1", Text: "look", Media: []chat.Media{
			{Kind: chat.Image, Token: "a"}, {Kind: chat.File, Token: "gone"}, {Kind: chat.Video, Problem: "is too large", Token: "b"},
		},
		ReplyTo: &chat.Quote{ID: "0", Media: []chat.Media{{Kind: chat.Voice, Token: "c"}}},
	}
	return event
}

// Behaviour: file-fetch.
func TestAChannelFetchesFilesForTheHost(t *testing.T) {
	t.Parallel()
	c := &fileChannel{event: withFiles()}
	h := sdktest.New(t, channelOf(c))
	if got := h.Describe().Capabilities; !slices.Contains(got, "CAPABILITY_CHANNEL_FETCH") {
		t.Errorf("the channel has the capabilities %v", got)
	}
	h.Configure(nil)
	h.Run()
	got, _ := h.NextEvent().Body.(chat.Message)
	if len(got.Media) != 3 || got.Media[0].Token != "a" || got.ReplyTo.Media[0].Token != "c" || len(c.tokens()) != 0 {
		t.Errorf("the host got %+v, fetched are %q", got, c.tokens())
	}
	for token, want := range map[chat.FileToken]string{"a": "the file a", "large": strings.Repeat("x", 1<<20)} {
		if content, err := h.FetchFile(t.Context(), token); err != nil || string(content) != want {
			t.Errorf("%s has %d bytes, %v", token, len(content), err)
		}
	}
	for token, want := range map[chat.FileToken]chat.FileError{"gone": {Problem: "is gone"}, "busy": {RetryAfter: time.Minute}, "broken": {}} {
		_, err := h.FetchFile(t.Context(), token)
		if failed, ok := errors.AsType[*chat.FileError](err); !ok || failed.Problem != want.Problem || failed.RetryAfter != want.RetryAfter || failed.Err == nil {
			t.Errorf("%s: %v, want %+v", token, err, want)
		}
	}
	if _, err := h.FetchFile(t.Context(), "panic"); !sdktest.Panicked(err) {
		t.Errorf("a panic gives %v", err)
	}
	for _, token := range []chat.FileToken{"", chat.FileToken(strings.Repeat("x", chat.MaxFileToken+1))} {
		if _, err := h.FetchFile(t.Context(), token); err == nil {
			t.Errorf("a token of %d bytes was taken", len(token))
		}
	}
}

// An older host does not fetch files: they are uploaded before their message.
func TestFilesForAnOlderHost(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		c := &fileChannel{event: withFiles()}
		c.event.Body.(chat.Message).ReplyTo.IsSelf = own
		h := sdktest.New(t, channelOf(c))
		h.Before = true
		h.Configure(nil)
		h.Run()
		got, _ := h.NextEvent().Body.(chat.Message)
		if len(got.Media) != 3 || got.Media[1].Problem != "is gone" || got.Media[2].Problem != "is too large" {
			t.Fatalf("the host got %+v", got)
		}
		files := []chat.Media{got.Media[0]}
		if !own {
			files = append(files, got.ReplyTo.Media[0])
		}
		for i, m := range files {
			if content, ok := h.Host.File(m.Ref); !ok || m.Token != "" || string(content) != []string{"the file a", "the file c"}[i] {
				t.Errorf("file %d is %+v with %q", i, m, content)
			}
		}
		if want := len(files) + 1; len(c.tokens()) != want {
			t.Errorf("fetched are %q, want %d", c.tokens(), want)
		}
	}
}
