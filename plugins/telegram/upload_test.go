package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/upload"
)

// png and jpeg begin as such images do.
const (
	png  = "\x89PNG\r\n\x1a\n and pixels"
	jpeg = "\xff\xd8\xff\xe0 and pixels"
)

// put has the host store a file.
func (b *shelf) put(kind chat.MediaKind, mimeType, name, content string) chat.Media {
	b.t.Helper()
	media, err := b.env.Media.Upload(b.t.Context(), chat.Media{Kind: kind, MIMEType: mimeType, FileName: name}, strings.NewReader(content))
	if err != nil {
		b.t.Fatal(err)
	}
	return media
}

// arrived is what a person sees of a message.
type arrived struct {
	Media, MIMEType, Name, Content, Text string
	Entities, Buttons, Album             int
	Reply, Silent                        bool
}

func (b *shelf) arrived() []arrived {
	var list []arrived
	album := 0
	for _, m := range b.server.Replies(7) {
		a := arrived{
			Media: m.Media, MIMEType: m.MIMEType, Name: m.FileName, Content: string(m.File), Text: m.Text, Entities: len(m.Entities),
			Buttons: len(m.Buttons), Reply: m.ReplyTo != 0, Silent: m.Silent,
		}
		if m.Album != 0 {
			if album == 0 {
				album = m.Album
			}
			a.Album = 1 + m.Album - album
		}
		list = append(list, a)
	}
	return list
}

func TestSendFiles(t *testing.T) {
	t.Parallel()
	button := [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	long := strings.Repeat("ü", captionLimit.Max+1)
	for _, test := range []struct {
		name  string
		files []chat.Media // FileName holds what is in it
		out   chat.Outgoing
		want  []arrived
	}{
		{
			"a photo with a caption, buttons and an answer",
			[]chat.Media{{Kind: chat.Image, MIMEType: "image/png", FileName: png}},
			chat.Outgoing{Text: "**look**", Buttons: button, ReplyTo: "101", Silent: true},
			[]arrived{{Media: "photo", MIMEType: "image/png", Content: png, Text: "look", Entities: 1, Buttons: 1, Reply: true, Silent: true}},
		},
		{
			"what has no caption",
			[]chat.Media{{Kind: chat.Voice, MIMEType: "audio/ogg; codecs=opus", FileName: "opus"}},
			chat.Outgoing{},
			[]arrived{{Media: "voice", MIMEType: "audio/ogg; codecs=opus", Content: "opus"}},
		},
		{
			"a voice in other formats",
			[]chat.Media{{Kind: chat.Voice, MIMEType: "audio/x-m4a", FileName: "m4a"}, {Kind: chat.Voice, MIMEType: "audio/wav", FileName: "wav"}},
			chat.Outgoing{},
			[]arrived{{Media: "voice", MIMEType: "audio/x-m4a", Content: "m4a"}, {Media: "document", MIMEType: "audio/wav", Content: "wav"}},
		},
		{
			"a text that is too long for a caption",
			[]chat.Media{{Kind: chat.File, MIMEType: "application/pdf", FileName: "%PDF"}},
			chat.Outgoing{Text: long, ReplyTo: "101", Buttons: button},
			[]arrived{{Text: long, Reply: true, Buttons: 1}, {Media: "document", MIMEType: "application/pdf", Content: "%PDF"}},
		},
		{
			"an album with a caption",
			[]chat.Media{{Kind: chat.Image, MIMEType: "image/png", FileName: png}, {Kind: chat.Video, MIMEType: "video/mp4", FileName: "mp4"}},
			chat.Outgoing{Text: "*two*", Silent: true},
			[]arrived{
				{Media: "photo", MIMEType: "image/png", Content: png, Text: "two", Entities: 1, Album: 1, Silent: true},
				{Media: "video", MIMEType: "video/mp4", Content: "mp4", Album: 1, Silent: true},
			},
		},
		{
			"an album and buttons",
			[]chat.Media{{Kind: chat.Audio, MIMEType: "audio/mpeg", FileName: "a"}, {Kind: chat.Audio, MIMEType: "audio/mpeg", FileName: "b"}},
			chat.Outgoing{Text: "which?", Buttons: button},
			[]arrived{
				{Text: "which?", Buttons: 1},
				{Media: "audio", MIMEType: "audio/mpeg", Content: "a", Album: 1},
				{Media: "audio", MIMEType: "audio/mpeg", Content: "b", Album: 1},
			},
		},
		{
			"all kinds",
			[]chat.Media{
				{Kind: chat.Image, MIMEType: "image/jpeg", FileName: jpeg},
				{Kind: chat.Voice, MIMEType: "audio/ogg", FileName: "v"},
				{Kind: chat.Voice, MIMEType: "audio/ogg", FileName: "w"},
				{Kind: chat.File, MIMEType: "text/plain", FileName: "t"},
				{Kind: chat.Image, MIMEType: "image/gif", FileName: "GIF89a"},
				{Kind: chat.Video, MIMEType: "video/webm", FileName: "webm"},
			},
			chat.Outgoing{Text: "all"},
			[]arrived{
				{Text: "all"},
				{Media: "photo", MIMEType: "image/jpeg", Content: jpeg},
				{Media: "voice", MIMEType: "audio/ogg", Content: "v"},
				{Media: "voice", MIMEType: "audio/ogg", Content: "w"},
				{Media: "document", MIMEType: "text/plain", Content: "t", Album: 1},
				{Media: "document", MIMEType: "image/gif", Content: "GIF89a", Album: 1},
				{Media: "document", MIMEType: "video/webm", Content: "webm", Album: 1},
			},
		},
		{
			"no image, whatever it is called",
			[]chat.Media{{Kind: chat.Image, MIMEType: "image/png", FileName: "text"}},
			chat.Outgoing{Text: "look"},
			[]arrived{{Media: "document", MIMEType: "image/png", Content: "text", Text: "look"}},
		},
		{
			"no image in an album",
			[]chat.Media{{Kind: chat.Image, MIMEType: "image/png", FileName: png}, {Kind: chat.Image, MIMEType: "image/png", FileName: "text"}},
			chat.Outgoing{Text: "look"},
			[]arrived{
				{Media: "document", MIMEType: "image/png", Content: png, Text: "look", Album: 1}, {Media: "document", MIMEType: "image/png", Content: "text", Album: 1},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			b.anna.Send(0, "please")
			for _, m := range test.files {
				test.out.Media = append(test.out.Media, b.put(m.Kind, m.MIMEType, "", m.FileName))
			}
			test.out.Key, test.out.To = "k", chat.Address{Chat: "7"}
			receipt, err := b.Send(test.out)
			if err != nil {
				t.Fatal(err)
			}
			got := b.arrived()
			for i := range got {
				if got[i].Name == "" && got[i].Media != "" {
					t.Error("a file without a name")
				}
				got[i].Name = ""
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
			if len(receipt.IDs) != len(got) {
				t.Errorf("ids %v of %d messages", receipt.IDs, len(got))
			}
		})
	}
}

func TestALargeAlbumIsSeveral(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	var files []chat.Media
	for range 13 {
		files = append(files, b.put(chat.Image, "image/png", "a.png", png))
	}
	// The second album fails at first: the first is not sent again.
	b.server.Fail("sendMediaGroup", 1, telegramtest.Slow(0))
	b.server.Fail("sendMediaGroup", 1, telegramtest.TooManyRequests(0))
	out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "7"}, Media: files}
	_, err := b.Send(out)
	wantFailure(t, "the first try", err, chat.RateLimited)
	receipt, err := b.Send(out)
	if err != nil || len(receipt.IDs) != 13 {
		t.Fatalf("%d ids, %v", len(receipt.IDs), err)
	}
	albums := map[int]int{}
	for _, m := range b.arrived() {
		albums[m.Album]++
	}
	if len(b.arrived()) != 13 || len(albums) != 2 {
		t.Errorf("%d files in albums %v", len(b.arrived()), albums)
	}
}

// A repeat says before its text that it is one. If its text was sent, the file that may have arrived says it.
// Behaviour: delivery-repeat.
func TestARepeatOfTheRestOfAMessage(t *testing.T) {
	t.Parallel()
	const again = "(Again.)"
	long := strings.Repeat("ü", captionLimit.Max+1)
	for _, test := range []struct {
		name   string
		text   string
		files  int // that are no album
		method string
		first  []string // what arrives before the connection breaks
		rest   []string
	}{
		{"a text and a file", long, 1, "sendDocument", []string{long, ""}, []string{again}},
		{"files", "", 2, "sendVoice", []string{"", ""}, []string{again}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "7"}, Text: test.text}
			for i := range test.files {
				kind, as := chat.File, "application/pdf"
				if i > 0 {
					kind, as = chat.Voice, "audio/ogg"
				}
				out.Media = append(out.Media, b.put(kind, as, "f", "content"))
			}
			b.server.Fail(test.method, 1, telegramtest.CutAfter())
			_, err := b.Send(out)
			if f := wantFailure(t, "the first try", err, chat.Temporary); !f.MaybeDelivered {
				t.Fatal("its outcome is known")
			}
			out.Text = strings.TrimSpace(again + "\n\n" + out.Text)
			if receipt, err := b.Send(out); err != nil || len(receipt.IDs) != 2 {
				t.Fatalf("%d ids, %v", len(receipt.IDs), err)
			}
			var got []string
			for _, m := range b.arrived() {
				got = append(got, m.Text)
			}
			if diff := cmp.Diff(slices.Concat(test.first, test.rest), got); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	for name, want := range map[string]string{
		"Ärger 🦀.pdf": "Ärger 🦀.pdf", `a"b\c/d.pdf`: "a_b_c_d.pdf", "a\r\nX-Evil: 1.pdf": "a__X-Evil: 1.pdf", "": "file",
	} {
		out := chat.Outgoing{Key: name + "k", To: chat.Address{Chat: "7"}, Media: []chat.Media{b.put(chat.File, "application/pdf\r\nX: y", name, "%PDF")}}
		if _, err := b.Send(out); err != nil {
			t.Fatal(err)
		}
		all := b.arrived()
		if got := all[len(all)-1]; got.Name != want || got.MIMEType != "application/octet-stream" {
			t.Errorf("%q arrives as %q of type %q", name, got.Name, got.MIMEType)
		}
	}
}

// TestFilesThatCannotBeRead: the message was certainly not delivered.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	_, err := b.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "7"}, Media: []chat.Media{{Ref: "nobody knows it", Kind: chat.File}}})
	if f := wantFailure(t, "an unknown ref", err, chat.MediaRejected); f.MaybeDelivered {
		t.Error("an unknown ref: maybe delivered")
	}
	s := telegramtest.New(t)
	s.User(7)
	a := newAPI(s.Token(), s.URL())
	defer a.close()
	for name, test := range map[string]struct {
		content io.Reader
		want    chat.Reason
	}{
		"ends too soon":     {strings.NewReader("123"), chat.MediaRejected},
		"does not end":      {strings.NewReader("1234567"), chat.MediaRejected},
		"breaks":            {io.MultiReader(strings.NewReader("123"), iotest.ErrReader(errors.New("disk "+s.Token()))), chat.Temporary},
		"breaks at its end": {io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(errors.New("disk"))), chat.Temporary},
	} {
		file := &enclosed{files: []upload.Part{{Name: "document", File: "f"}}, open: func(context.Context, chat.MediaRef) (chat.Media, io.ReadCloser, error) {
			return chat.Media{Size: 5}, io.NopCloser(test.content), nil
		}}
		err := a.callChat(t.Context(), "sendDocument", tgbotapi.Params{"chat_id": "7"}, nil, file)
		if f, ok := errors.AsType[*chat.Failure](network.Failure(err)); !ok || f.MaybeDelivered || f.Reason != test.want || strings.Contains(err.Error(), s.Token()) {
			t.Errorf("a file that %s: %v", name, network.Failure(err))
		}
	}
	if got := s.Replies(7); len(got) != 0 {
		t.Errorf("arrived: %+v", got)
	}
}

// slowServer is Telegram at the end of a slow line.
type slowServer struct{ bytesASecond int64 }

// RoundTrip implements http.RoundTripper.
func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Duration(n/s.bytesASecond) * time.Second):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	answer := `{"ok": true, "result": {"message_id": 1, "chat": {"id": 7}}}`
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// largeFile is a host's media store with one file.
type largeFile struct{ size int }

// Upload implements sdk.Media.
func (largeFile) Upload(context.Context, chat.Media, io.Reader) (chat.Media, error) {
	return chat.Media{}, errors.ErrUnsupported
}

// Download implements sdk.Media.
func (f largeFile) Download(context.Context, chat.MediaRef) (chat.Media, io.ReadCloser, error) {
	return chat.Media{Size: int64(f.size)}, io.NopCloser(bytes.NewReader(make([]byte, f.size))), nil
}

// Behaviour: files-time.
func TestALargeFileHasItsTime(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	for speed, arrives := range map[int64]bool{256 << 10: true, 128 << 10: false} {
		synctest.Test(t, func(t *testing.T) {
			c := &channel{api: newAPI("1:t", "http://telegram.test")}
			c.api.client.Transport = slowServer{speed}
			c.media = largeFile{size}
			_, err := c.take(t.Context(), chat.Address{Chat: "7"}, step{files: []shaped{{Media: chat.Media{Ref: "f", Size: size}, as: document}}})
			if arrives != (err == nil) {
				t.Errorf("at %d bytes a second: %v", speed, err)
			}
		})
	}
}

func TestFailuresOfUploads(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		fault     telegramtest.Fault
		want      chat.Reason
		delivered bool
		unknown   bool
	}{
		{"429", telegramtest.TooManyRequests(3 * time.Second), chat.RateLimited, false, false},
		{"too large for a proxy", telegramtest.Refuse(413, "Request Entity Too Large"), chat.MediaRejected, false, false},
		{"no rights", telegramtest.Refuse(400, "Bad Request: not enough rights to send documents to the chat"), chat.Forbidden, false, false},
		{"empty", telegramtest.Refuse(400, "Bad Request: file must be non-empty"), chat.MediaRejected, false, false},
		{"broken", telegramtest.Refuse(500, "Internal Server Error"), chat.Temporary, false, true},
		{"a gateway", telegramtest.NotJSON(502), chat.Temporary, false, true},
		{"cut before", telegramtest.CutBefore(), chat.Temporary, false, true},
		{"cut after", telegramtest.CutAfter(), chat.Temporary, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newShelf(t)
			b.server.Fail("sendDocument", 1, test.fault)
			out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "7"}, Media: []chat.Media{b.put(chat.File, "text/plain", "a.txt", "text")}}
			_, err := b.Send(out)
			f := wantFailure(t, "send", err, test.want)
			if f.MaybeDelivered != test.unknown || (f.RetryAfter == 3*time.Second) != (f.Reason == chat.RateLimited) {
				t.Errorf("%v: maybe delivered %t, to wait %v", f, f.MaybeDelivered, f.RetryAfter)
			}
			if delivered := len(b.arrived()) > 0; delivered != test.delivered {
				t.Errorf("delivered: %t", delivered)
			}
		})
	}
}

// TestFilesOfAGroupThatMoved are read again for the second try.
func TestFilesOfAGroupThatMoved(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	b.server.SmallGroup(-5, "small")
	b.server.Migrate(b.anna, -5, -1005)
	large := strings.Repeat("0123456789abcdef", 200<<10/16)
	out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "-5"}, Media: []chat.Media{b.put(chat.File, "text/plain", "a.txt", large)}}
	if _, err := b.Send(out); err != nil {
		t.Fatal(err)
	}
	if got := b.server.Replies(-1005); len(got) != 1 || !bytes.Equal(got[0].File, []byte(large)) {
		t.Errorf("arrived: %d messages", len(got))
	}
}

func TestEditOfACaption(t *testing.T) {
	t.Parallel()
	b := newShelf(t)
	to := chat.Address{Chat: "7"}
	receipt, err := b.Send(chat.Outgoing{
		Key: "k", To: to, Text: "may I?", Media: []chat.Media{b.put(chat.Image, "image/png", "a.png", png)},
		Buttons: [][]chat.Button{{{Label: "Yes", Data: "y"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Edit(to, receipt.IDs[0], "**allowed**", nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.server.Replies(7)[0]; got.Text != "allowed" || got.Media != "photo" || len(got.Buttons) != 0 || got.Entities[0].Type != "bold" {
		t.Errorf("edited to %+v", got)
	}
	err = b.Edit(to, receipt.IDs[0], strings.Repeat("x", captionLimit.Max+1), nil)
	wantFailure(t, "a caption that is too long", err, chat.TooLong)
}
