package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
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

// next is the file of the next message, and its bytes.
func (b *shelf) next() (chat.Media, string) {
	b.t.Helper()
	message, _ := b.NextEvent().Body.(chat.Message)
	if len(message.Media) != 1 {
		b.t.Fatalf("got %+v, want one file", message)
	}
	media := message.Media[0]
	if media.Ref == "" {
		return media, ""
	}
	_, content, err := b.env.Media.Download(b.t.Context(), media.Ref)
	if err != nil {
		b.t.Fatal(err)
	}
	defer content.Close()
	bytes, err := io.ReadAll(content)
	if err != nil {
		b.t.Fatal(err)
	}
	return media, string(bytes)
}

func TestFilesAreFetched(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	large := strings.Repeat("0123456789", 100_000)
	for _, c := range []struct {
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
		got, content := b.next()
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(chat.Media{}, "Ref")); diff != "" || got.Ref == "" || content != string(c.post.File) {
			t.Errorf("%s: ref %q with %d bytes (-want +got):\n%s", c.post.Media, got.Ref, len(content), diff)
		}
	}
}

// TestAFileThatCannotBeHad keeps no message back.
func TestAFileThatCannotBeHad(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]func(*telegramtest.Server){
		"refused": func(s *telegramtest.Server) {
			s.Fail("getFile", 1, telegramtest.Refuse(400, "Bad Request: wrong file_id"))
		},
		"gone":          func(s *telegramtest.Server) { s.Fail("download", 1, telegramtest.Refuse(404, "Not Found")) },
		"always broken": func(s *telegramtest.Server) { s.Fail("download", 1<<30, telegramtest.CutAfter()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			order(b.server)
			b.anna.Post(telegramtest.Post{Media: "photo", Text: "look", File: []byte("pixels")})
			if got, _ := b.next(); got != (chat.Media{Kind: chat.Image, MIMEType: "image/jpeg", Size: 6, Problem: "could not be fetched"}) {
				t.Errorf("got %+v", got)
			}
			if err := b.server.AwaitConfirmed(t.Context()); err != nil {
				t.Error(err)
			}
			if logs := b.Logs(); !strings.Contains(logs, "could not be fetched") || strings.Contains(logs, "loopback-token") {
				t.Errorf("logs:\n%s", logs)
			}
		})
	}
}

func TestAFileIsFetchedAgainAfterTrouble(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]func(*telegramtest.Server){
		"cut within the file": func(s *telegramtest.Server) { s.Fail("download", 2, telegramtest.CutAfter()) },
		"too many requests":   func(s *telegramtest.Server) { s.Fail("getFile", 2, telegramtest.TooManyRequests(0)) },
		"Telegram broken":     func(s *telegramtest.Server) { s.Fail("download", 1, telegramtest.NotJSON(502)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			order(b.server)
			b.anna.Post(telegramtest.Post{Media: "photo", File: []byte("pixels")})
			if got, content := b.next(); got.Ref == "" || content != "pixels" {
				t.Errorf("got %+v with %q", got, content)
			}
		})
	}
}

func TestAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	b.anna.Post(telegramtest.Post{Media: "video", File: make([]byte, maxFile+1)})
	if got, _ := b.next(); got.Ref != "" || got.Size != maxFile+1 {
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

// TestStrangersFillNoDisk: files of a chat that the host refuses are fetched up to a bound only.
func TestStrangersFillNoDisk(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	b.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		if m, _ := e.Body.(chat.Message); m.Text != "let me in" {
			return chat.Rejected, nil
		}
		return b.Host.Accept(ctx, e)
	})
	file := make([]byte, 3<<20) // the harness's host takes 4 MiB
	for range 12 {
		b.anna.Post(telegramtest.Post{Media: "document", File: file})
	}
	if err := b.server.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.server.Calls("download")); n != 6 {
		t.Errorf("%d files of 3 MiB were fetched, want 6", n)
	}
	b.anna.Post(telegramtest.Post{Media: "document", File: file, Text: "let me in"})
	if m, _ := b.NextEvent().Body.(chat.Message); len(m.Media) != 1 || m.Media[0].Problem != "was not fetched, for what came from this chat before was refused" {
		t.Errorf("the first message that is taken: %+v", m)
	}
	b.anna.Post(telegramtest.Post{Media: "document", File: file})
	if err := b.server.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.server.Calls("download")); n != 7 {
		t.Errorf("after a message that was taken: %d files", n)
	}
}

// TestStopEndsAFetch: what was not fetched to its end is not confirmed, and comes again.
func TestStopEndsAFetch(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	c := newChannel(t, s)
	s.Fail("getFile", 1, telegramtest.HangAfter())
	stop := run(t, c, in)
	s.User(7).Post(telegramtest.Post{Media: "photo", File: []byte("pixels")})
	in.awaitReport(t, "connected: as @claw_bot")
	if _, err := s.AwaitCalls(t.Context(), "getFile", 1); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if s.Pending() != 1 || len(in.events) != 0 {
		t.Errorf("%d updates wait, %d were handed over", s.Pending(), len(in.events))
	}
}

// TestAFetchGivesUp on a server that never answers.
func TestAFetchGivesUp(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.Fail("getFile", 1, telegramtest.HangAfter())
	a := newAPI(s.Token(), s.URL())
	defer a.close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	file := attachment{media: chat.Media{Kind: chat.Image, Size: 6}, id: "1"}
	want := file.media
	want.Problem = "could not be fetched"
	if got := (fetcher{api: a, log: hclog.NewNullLogger(), wait: time.Millisecond}).fetch(ctx, file); got != want {
		t.Errorf("got %+v", got)
	}
}
