package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// shelf is the host's store of files.
type shelf map[chat.MediaRef]book

type book struct {
	media   chat.Media
	content io.Reader
}

func (shelf) Upload(context.Context, chat.Media, io.Reader) (chat.Media, error) {
	return chat.Media{}, errors.New("not here")
}

func (s shelf) Download(_ context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error) {
	b, ok := s[ref]
	if !ok {
		return chat.Media{}, nil, fmt.Errorf("download: %w", sdk.ErrNotFound)
	}
	if seeker, ok := b.content.(io.Seeker); ok {
		_, _ = seeker.Seek(0, io.SeekStart)
	}
	return b.media, io.NopCloser(b.content), nil
}

// put adds a file of so many bytes and returns it as the host names it.
func (s shelf) put(name, kind string, size int) chat.Media {
	m := chat.Media{Ref: chat.MediaRef(fmt.Sprint("ref", len(s))), Kind: chat.File, FileName: name, MIMEType: kind, Size: int64(size)}
	if strings.HasPrefix(kind, "image/") {
		m.Kind = chat.Image
	}
	s[m.Ref] = book{m, bytes.NewReader(bytes.Repeat([]byte("x"), size))}
	return m
}

func sender(t *testing.T) (*discordtest.Server, *channel, shelf) {
	t.Helper()
	s := discordtest.New(t)
	s.Direct("7", "70")
	c, files := newChannel(t, s), shelf{}
	c.env.Media = files
	return s, c, files
}

// Behaviour: discord-answer.
func TestFilesAreSent(t *testing.T) {
	t.Parallel()
	s, c, files := sender(t)
	out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Text: "look", Media: []chat.Media{
		files.put("a \"b\".png", "image/png", 200_000), files.put("", "image/jpeg", 3), files.put("empty.txt", "text/plain", 0), files.put("ü.pdf", "", 5),
	}, Buttons: [][]chat.Button{{{Label: "Yes", Data: "y"}}}, Silent: true}
	for range 2 { // The same key is the same message.
		receipt, err := c.Send(t.Context(), out)
		if err != nil || len(receipt.IDs) != 1 {
			t.Fatalf("%+v, %v", receipt, err)
		}
	}
	got := s.Replies("70")
	if len(got) != 1 || got[0].Text != "look" || !got[0].Silent || len(got[0].Buttons) != 1 || got[0].Mentions == nil {
		t.Fatalf("sent %+v", got)
	}
	var shown []string
	for _, f := range got[0].Files {
		shown = append(shown, fmt.Sprintf("%s %s %d", f.Name, f.Type, len(f.Content)))
	}
	want := []string{"a _b_.png image/png 200000", "image.jpg image/jpeg 3", "empty.txt text/plain 0", "ü.pdf application/octet-stream 5"}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
}

// TestManyFiles are several messages, of ten files or of as many bytes as one takes.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	s, c, files := sender(t)
	out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Text: "many"}
	for n := range 23 {
		out.Media = append(out.Media, files.put(fmt.Sprint(n), "text/plain", n))
	}
	s.Fail(http.MethodPost, "/messages", 1, discordtest.CutAfter())
	for _, wantErr := range []bool{true, false} {
		receipt, err := c.Send(t.Context(), out)
		if (err != nil) != wantErr || err == nil && len(receipt.IDs) != 3 {
			t.Fatalf("%+v, %v", receipt, err)
		}
	}
	var counts []int
	for _, m := range s.Replies("70") {
		counts = append(counts, len(m.Files))
	}
	if diff := cmp.Diff([]int{10, 10, 3}, counts); diff != "" {
		t.Error(diff)
	}
	for n, want := range map[int]int{3: 2, 2: 1} {
		var large []chat.Media
		for range n {
			large = append(large, chat.Media{Ref: "r", Size: maxUpload})
		}
		if list, err := bundles(large); err != nil || len(list) != want {
			t.Errorf("%d large files make %d messages, %v; want %d", n, len(list), err, want)
		}
	}
}

func TestFilesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	s, c, files := sender(t)
	small := files.put("f", "text/plain", 3)
	short := small
	short.Ref = "short"
	files["short"] = book{chat.Media{Size: 10}, strings.NewReader("only")}
	broken := small
	broken.Ref = "broken"
	files["broken"] = book{chat.Media{Size: 10}, iotest.ErrReader(errors.New("the host went away"))}
	for _, test := range []struct {
		name  string
		file  chat.Media
		fault discordtest.Fault
		want  chat.Failure
	}{
		{"not there", chat.Media{Ref: "none", Size: 1}, nil, chat.Failure{Reason: chat.MediaRejected}},
		{"too large for Discord", small, discordtest.Refuse(413, 40005, "Request entity too large"), chat.Failure{Reason: chat.MediaRejected}},
		{"too large for its wall", small, discordtest.NotJSON(413), chat.Failure{Reason: chat.MediaRejected}},
		{"no permission", small, discordtest.Refuse(403, 50013, "Missing Permissions"), chat.Failure{Reason: chat.Forbidden}},
		{"of another size", short, nil, chat.Failure{Reason: chat.MediaRejected}},
		{"broken off", broken, nil, chat.Failure{Reason: chat.Temporary}},
	} {
		if test.fault != nil {
			s.Fail(http.MethodPost, "/messages", 1, test.fault)
		}
		_, err := c.Send(t.Context(), chat.Outgoing{Key: test.name, To: chat.Address{Chat: "70"}, Media: []chat.Media{test.file}})
		got, ok := errors.AsType[*chat.Failure](err)
		if !ok || got.Reason != test.want.Reason || got.MaybeDelivered {
			t.Errorf("%s: got %+v", test.name, err)
		}
	}
	if n := len(s.Replies("70")); n != 0 {
		t.Errorf("%d messages came", n)
	}
}
