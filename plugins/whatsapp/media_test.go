package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestFilesComeIn(t *testing.T) {
	t.Parallel()
	l := start(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for _, test := range []struct {
		message *waE2E.Message
		want    chat.Media
		content []byte
		text    string
	}{
		{l.server.Image([]byte("pixels"), "image/jpeg", "look"), chat.Media{Kind: chat.Image, MIMEType: "image/jpeg", Size: 6}, []byte("pixels"), "look"},
		{l.server.Voice([]byte("ogg")), chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg; codecs=opus", Size: 3}, []byte("ogg"), ""},
		{
			l.server.Document(large, "application/pdf", "a.pdf"),
			chat.Media{Kind: chat.File, MIMEType: "application/pdf", FileName: "a.pdf", Size: int64(len(large))},
			large, "",
		},
	} {
		l.anna.Send(test.message)
		_, m := l.next()
		if len(m.Media) != 1 || m.Text != test.text {
			t.Fatalf("came %+v", m)
		}
		got := m.Media[0]
		raw, err := l.Content(got)
		got.Token = ""
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil || !bytes.Equal(raw, test.content) {
			t.Errorf("%d bytes, %v (-want +got):\n%s", len(raw), err, diff)
		}
	}
	nothingLeft(t, l)
}

// nothingLeft shows that no file stays in the folder of those on their way.
func nothingLeft(t *testing.T, l life) {
	t.Helper()
	left, err := os.ReadDir(l.StateDir + "/files")
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// TestNothingIsFetchedWithoutARequest: a message is submitted while its file is unavailable, and the next process can fetch it.
// Behaviour: file-fetch.
func TestNothingIsFetchedWithoutARequest(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.server.BreakMedia(500)
	l.anna.Send(l.server.Image([]byte("pixels"), "image/jpeg", "look"))
	_, m := l.next()
	if len(m.Media) != 1 || m.Media[0].Token == "" || m.Media[0].Problem != "" {
		t.Fatalf("came %+v", m)
	}
	_, err := l.FetchFile(t.Context(), m.Media[0].Token)
	if failed, ok := errors.AsType[*chat.FileError](err); !ok || failed.Problem != "" {
		t.Errorf("while the media servers are broken: %v", err)
	}
	l.run.Stop()
	_, err = l.FetchFile(t.Context(), m.Media[0].Token)
	if failed, ok := errors.AsType[*chat.FileError](err); !ok || failed.Problem != "" {
		t.Errorf("without a connection: %v", err)
	}
	l.server.BreakMedia(0)
	l.Run().WaitFor(chat.Connected)
	if content, err := l.Content(m.Media[0]); err != nil || string(content) != "pixels" {
		t.Errorf("later: %q, %v", content, err)
	}
	if n := l.server.Fetched(); n != 1 {
		t.Errorf("%d files were fetched, one was asked for", n)
	}
	nothingLeft(t, l)
}

// TestNoSpaceIsAllocatedForLongAnswers: the library allocates disk space for the announced length of a response.
// Behaviour: file-retry.
func TestNoSpaceIsAllocatedForLongAnswers(t *testing.T) {
	t.Parallel()
	for length, want := range map[int64]int64{64: 64, 65: -1, -1: -1} {
		content := &counting{Reader: io.LimitReader(zeros{}, 64)}
		answering := trip(func(*http.Request) (*http.Response, error) {
			return &http.Response{ContentLength: length, Body: io.NopCloser(content)}, nil
		})
		response, err := bounded{answering, 64}.RoundTrip(nil)
		if err != nil || response.ContentLength != want {
			t.Fatalf("%d bytes are shown as %d, %v", length, response.ContentLength, err)
		}
		_, err = io.ReadAll(response.Body)
		if long := length > 64; errors.Is(err, errTooLarge) != long || long && content.reads > 1 {
			t.Errorf("%d bytes end with %v after %d reads", length, err, content.reads)
		}
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type counting struct {
	io.Reader
	reads int
}

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestFilesGoOut(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	_, first := l.next()
	store := func(kind chat.MediaKind, mimeType, name, content string) chat.Media {
		t.Helper()
		m, err := l.env.Media.Upload(t.Context(), chat.Media{Kind: kind, MIMEType: mimeType, FileName: name}, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	media := []chat.Media{
		store(chat.Image, "image/png", "", "a picture"),
		store(chat.Video, "video/mp4", "", "a film"),
		store(chat.Voice, "audio/ogg", "", "a voice"),
		store(chat.Audio, "audio/mpeg", "", "a song"),
		store(chat.Sticker, "image/webp", "", "a sticker"),
		store(chat.Image, "image/tiff", "scan.tiff", "a scan"),
		store(chat.File, "", "", "bytes"),
	}
	receipt := l.send(chat.Outgoing{Key: "k", To: l.direct, Text: "**look**", Media: media, ReplyTo: first.ID})
	heard := l.heard(len(media))
	if len(receipt.IDs) != len(media)+1 { // One is of the album that the first two are in.
		t.Errorf("the ids are %v", receipt.IDs)
	}
	for i, content := range []string{"a picture", "a film", "a voice", "a song", "a sticker", "a scan", "bytes"} {
		raw, err := heard[i].File()
		if err != nil || string(raw) != content {
			t.Errorf("file %d is %q, %v", i, raw, err)
		}
	}
	image, voice, scan := heard[0].Message.GetImageMessage(), heard[2].Message.GetAudioMessage(), heard[5].Message.GetDocumentMessage()
	if image.GetCaption() != "*look*" || image.GetContextInfo().GetStanzaID() == "" || !voice.GetPTT() ||
		voice.GetMimetype() != "audio/ogg; codecs=opus" || heard[3].Message.GetAudioMessage().GetPTT() ||
		scan.GetFileName() != "scan.tiff" || heard[6].Message.GetDocumentMessage().GetMimetype() != "application/octet-stream" {
		t.Errorf("Anna heard %v", heard)
	}
	// The same key again is no second set, and a voice has no caption.
	again := l.send(chat.Outgoing{Key: "k", To: l.direct, Text: "**look**", Media: media})
	if diff := cmp.Diff(receipt, again); diff != "" {
		t.Error(diff)
	}
	l.send(chat.Outgoing{Key: "v", To: l.direct, Text: "listen", Media: media[2:3]})
	if heard := l.heard(len(media) + 2)[len(media):]; heard[0].Text() != "listen" || heard[1].Message.GetAudioMessage() == nil {
		t.Errorf("Anna heard %v", heard)
	}
	nothingLeft(t, l)
}

// TestUploadsThatFail tell so without the secret of the media server, and nothing was sent.
func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	l := start(t)
	m, err := l.env.Media.Upload(t.Context(), chat.Media{Kind: chat.Image, MIMEType: "image/png"}, strings.NewReader("pixels"))
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]chat.Reason{413: chat.MediaRejected, 500: chat.Temporary} {
		l.server.BreakMedia(status)
		_, err := l.Send(chat.Outgoing{Key: "k", To: l.direct, Media: []chat.Media{m}})
		f, ok := errors.AsType[*chat.Failure](err)
		if !ok || f.Reason != want || f.MaybeDelivered || strings.Contains(err.Error(), (*whatsapptest.Server)(nil).MediaAuth()) {
			t.Errorf("%d gives %v, want %s", status, err, want)
		}
	}
	if len(l.anna.Heard()) != 0 {
		t.Error("Anna heard something")
	}
	nothingLeft(t, l)
}
