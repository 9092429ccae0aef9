package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// shelf is the channel in a harness, with what it hands over of each message's file.
type shelf struct {
	*sdktest.Harness
	t      *testing.T
	server *telegramtest.Server
	anna   *telegramtest.User
	env    sdk.Env
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := telegramtest.New(t)
	b := &shelf{t: t, server: s, anna: s.User(7)}
	b.Harness = sdktest.New(t, sdk.NewChannel((*channel)(nil).Limits(0), func(ctx context.Context, env sdk.Env, cfg config) (*channel, error) {
		c, err := open(ctx, env, cfg)
		if c != nil {
			c.pace = quick()
		}
		b.env = env
		return c, err
	}))
	b.Configure(map[string]any{"token": s.Token(), "api_endpoint": s.URL()})
	b.Run()
	return b
}

// next is the file of the next message.
func (b *shelf) next() chat.Media {
	b.t.Helper()
	message, _ := b.NextEvent().Body.(chat.Message)
	if len(message.Media) != 1 {
		b.t.Fatalf("got %+v, want one file", message)
	}
	return message.Media[0]
}

// Behaviour: file-fetch, file-inbound.
func TestFilesAreFetched(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	large := strings.Repeat("0123456789", 100_000)
	for i, c := range []struct {
		post telegramtest.Post
		want chat.Media
	}{
		{telegramtest.Post{Media: "photo", Text: "look", File: []byte("pixels")}, chat.Media{Kind: chat.Image, MIMEType: "image/jpeg", Size: 6}},
		{
			telegramtest.Post{Media: "document", File: []byte(large), FileName: "a.pdf", MIMEType: "application/pdf"},
			chat.Media{Kind: chat.File, MIMEType: "application/pdf", FileName: "a.pdf", Size: int64(len(large))},
		},
		{telegramtest.Post{Media: "voice", File: []byte("ogg"), MIMEType: "audio/ogg"}, chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg", Size: 3}},
		{telegramtest.Post{Media: "document", File: []byte{}}, chat.Media{Kind: chat.File}},
	} {
		b.anna.Post(c.post)
		got := b.next()
		if calls := b.server.Calls("getFile"); len(calls) > i {
			t.Errorf("%s: it is fetched before the host asks for it", c.post.Media)
		}
		content, err := b.Content(got)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(chat.Media{}, "Token")); diff != "" || err != nil || string(content) != string(c.post.File) {
			t.Errorf("%s: %d bytes, %v (-want +got):\n%s", c.post.Media, len(content), err, diff)
		}
	}
}

// TestAnUnavailableFile says whether another try may succeed.
// Behaviour: file-retry.
func TestAnUnavailableFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		order func(*telegramtest.Server)
		want  chat.FileError
	}{
		"refused": {
			func(s *telegramtest.Server) {
				s.Fail("getFile", 1, telegramtest.Refuse(400, "Bad Request: wrong file_id"))
			},
			chat.FileError{Problem: "could not be fetched"},
		},
		"too big": {
			func(s *telegramtest.Server) {
				s.Fail("getFile", 1, telegramtest.Refuse(400, "Bad Request: file is too big"))
			},
			chat.FileError{Problem: network.TooLarge(maxFile)},
		},
		"gone": {
			func(s *telegramtest.Server) { s.Fail("download", 1, telegramtest.Refuse(404, "Not Found")) },
			chat.FileError{Problem: "could not be fetched"},
		},
		"cut within the file": {func(s *telegramtest.Server) { s.Fail("download", 1, telegramtest.CutAfter()) }, chat.FileError{}},
		"too many requests": {
			func(s *telegramtest.Server) { s.Fail("getFile", 1, telegramtest.TooManyRequests(7*time.Second)) },
			chat.FileError{RetryAfter: 7 * time.Second},
		},
		"Telegram broken": {func(s *telegramtest.Server) { s.Fail("download", 1, telegramtest.NotJSON(502)) }, chat.FileError{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			b.anna.Post(telegramtest.Post{Media: "photo", Text: "look", File: []byte("pixels")})
			file := b.next()
			tt.order(b.server)
			_, err := b.FetchFile(t.Context(), file.Token)
			got, ok := errors.AsType[*chat.FileError](err)
			if !ok || got.Problem != tt.want.Problem || got.RetryAfter != tt.want.RetryAfter {
				t.Errorf("got %v, want %+v", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "loopback-token") {
				t.Errorf("the error has the token: %v", err)
			}
			if content, err := b.Content(file); err != nil || string(content) != "pixels" {
				t.Errorf("after the trouble: %q, %v", content, err)
			}
		})
	}
}

func TestAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	b.anna.Post(telegramtest.Post{Media: "video", File: make([]byte, maxFile+1)})
	if got := b.next(); got != (chat.Media{Kind: chat.Video, Size: maxFile + 1, Problem: network.TooLarge(maxFile)}) {
		t.Errorf("got %+v", got)
	}
	if calls := b.server.Calls("getFile"); len(calls) != 0 {
		t.Errorf("asked for it: %+v", calls)
	}
}

// TestAFileThatGrows: the server says less of it than it sends.
func TestAFileThatGrows(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for range 30 {
			if _, err := w.Write(chunk); err != nil {
				return // the client has had enough
			}
		}
	}))
	defer server.Close()
	a := newAPI("1:x", server.URL)
	defer a.close()
	content, err := a.download(t.Context(), "files/1")
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	n, err := io.Copy(io.Discard, content)
	if n > maxFile || err == nil || !strings.Contains(err.Error(), "more than 20971520 bytes") {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestFilesThatAreNotServed(t *testing.T) {
	t.Parallel()
	a := newAPI("1:x", "http://127.0.0.1:1")
	defer a.close()
	for _, path := range []string{"", "/var/lib/telegram-bot-api/1/photos/file_1.jpg", "photos/../../bot1:x/logOut", "./x"} {
		if _, err := a.download(t.Context(), path); err == nil || strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := a.fileAddress("/var/lib/x"); err == nil || !strings.Contains(err.Error(), "--local") {
		t.Errorf("a server that runs with --local: %v", err)
	}
	if address, err := a.fileAddress("documents/a b?c#d.pdf"); err != nil || address != "http://127.0.0.1:1/file/bot1:x/documents/a%20b%3Fc%23d.pdf" {
		t.Errorf("%s, %v", address, err)
	}
}

// TestTheEndOfAFetch: the host waits no longer.
// Behaviour: file-retry.
func TestTheEndOfAFetch(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	b.anna.Post(telegramtest.Post{Media: "photo", File: []byte("pixels")})
	file := b.next()
	b.server.Fail("getFile", 1, telegramtest.HangAfter())
	ctx, cancel := context.WithCancel(t.Context())
	fetched := make(chan error, 1)
	go func() {
		_, err := b.FetchFile(ctx, file.Token)
		fetched <- err
	}()
	if _, err := b.server.AwaitCalls(t.Context(), "getFile", 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-fetched; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	b.Shutdown() // It waits for what is under way.
}
