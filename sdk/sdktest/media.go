package sdktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// pixel is a PNG of one pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

// sample is a small file of a kind. All are told apart by their content.
func sample(kind chat.MediaKind) (chat.Media, []byte) {
	m := chat.Media{Kind: kind, FileName: "sample-" + kind.String()}
	content := []byte("a sample of the kind " + kind.String())
	switch kind {
	case chat.Image:
		m.MIMEType, content = "image/png", []byte(pixel)
	case chat.Audio:
		m.MIMEType = "audio/mpeg"
	case chat.Voice:
		m.MIMEType, content = "audio/ogg; codecs=opus", Opus(60, 30, 90)
	case chat.Video:
		m.MIMEType = "video/mp4"
	case chat.Sticker:
		m.MIMEType = "image/webp"
	default:
		m.MIMEType = "application/octet-stream"
	}
	return m, content
}

func handsOverFiles(t testing.TB, s Setup) {
	n, h := s.connect(t)
	if len(h.Limits(chat.Direct).MediaIn) == 0 {
		return
	}
	network := as[MediaNetwork](t, n, "limits of incoming media")
	content := "what is in the file"
	network.Attach(s.Chats[0], "look at this", File{Name: "notes.txt", MIMEType: "text/plain", Content: []byte(content)})
	e := h.NextEvent()
	m, ok := e.Body.(chat.Message)
	if !ok || m.Text != "look at this" || len(m.Media) != 1 {
		t.Fatalf("the file comes as %+v, want a message with its caption and one file", e.Body)
	}
	stored, ok := h.Host.File(m.Media[0].Ref)
	if !ok || string(stored) != content {
		t.Errorf("the host got the file as %q (%t), want %q", stored, ok, content)
	}
}

func sendsFiles(t testing.TB, s Setup) {
	n, h := s.connect(t)
	limits := h.Limits(chat.Direct)
	if len(limits.MediaOut) == 0 {
		refusesFiles(t, s, h)
		return
	}
	network := as[MediaNetwork](t, n, "limits of outgoing media")
	var want []string
	arrives := func(text string, files ...chat.Media) {
		t.Helper()
		if _, err := h.Send(chat.Outgoing{Key: fmt.Sprintf("files-%d", len(want)), To: s.first(), Text: text, Media: files}); err != nil {
			t.Fatalf("send %d files: %v", len(files), err)
		}
		eventually(t, fmt.Sprintf("%d files arrive with their text, in order", len(files)), func() bool {
			return slices.Equal(network.Files(s.Chats[0]), want) && slices.Contains(network.Sent(s.Chats[0]), text)
		})
	}
	for _, limit := range limits.MediaOut {
		m, content := sample(limit.Kind)
		want = append(want, string(content))
		arrives("a file of the kind "+limit.Kind.String(), h.Host.AddFile(m, content))
		m.Ref, m.Size = "there is none", limit.MaxBytes+1
		_, err := h.Send(chat.Outgoing{Key: "huge " + limit.Kind.String(), To: s.first(), Text: "huge", Media: []chat.Media{m}})
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.MediaRejected || f.MaybeDelivered {
			t.Errorf("a file of %d bytes, of the kind %s, gives %v, want a failure: %s", m.Size, limit.Kind, err, chat.MediaRejected)
		}
	}
	if !slices.ContainsFunc(limits.MediaOut, func(l chat.MediaLimit) bool { return l.Kind == chat.File }) {
		return
	}
	var several []chat.Media
	for i := range 12 { // more than most networks put together
		m, content := sample(chat.File)
		content = fmt.Appendf(content, ", number %d", i)
		several, want = append(several, h.Host.AddFile(m, content)), append(want, string(content))
	}
	arrives("several files", several...)
	m, content := sample(chat.File)
	for _, limit := range []chat.TextLimit{limits.Caption, limits.Text} {
		if limit.Max > 0 {
			want = append(want, string(content))
			arrives(strings.Repeat("x", limit.Max), h.Host.AddFile(m, content))
		}
	}
}

// refusesFiles: what a channel cannot send it must not lose silently.
func refusesFiles(t testing.TB, s Setup, h *Harness) {
	t.Helper()
	_, err := h.Send(chat.Outgoing{Key: "file", To: s.first(), Text: "with a file", Media: []chat.Media{h.Host.AddFile(sample(chat.File))}})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.MediaRejected || f.MaybeDelivered {
		t.Errorf("a file, for which there is no limit, gives %v, want a failure: %s", err, chat.MediaRejected)
	}
}
