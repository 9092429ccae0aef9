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

// sample returns a small file of a kind. Each kind has a different content.
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
	n, config := s.network(t)
	h := s.meet(t, n, config)
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
	if got, err := h.Content(m.Media[0]); err != nil || string(got) != content {
		t.Errorf("the host got the file as %q (%v), want %q", got, err, content)
	}
	if m.Media[0].Token == "" {
		return
	}
	h.Shutdown()
	later, run := s.start(t, config)
	run.WaitFor(chat.Connected)
	if got, err := later.Content(m.Media[0]); err != nil || string(got) != content {
		t.Errorf("after a restart the channel fetches the file as %q (%v), want %q", got, err, content)
	}
}

func handsOverAnswered(t testing.TB, s Setup) {
	n, h := s.connect(t)
	network, ok := feature[AnswerNetwork](t, s, n, Answers)
	if !ok {
		return
	}
	answered := func(to chat.ID, of, text string, asked bool) chat.Quote {
		t.Helper()
		network.Answer(to, of, text, asked)
		m, ok := h.NextEvent().Body.(chat.Message)
		if !ok || !strings.Contains(m.Text, text) || len(m.Media) > 0 || m.ReplyTo == nil || len(m.ReplyTo.Media) != 1 {
			t.Fatalf("the answer %q to a file comes as %+v, want a message that quotes one file", text, m)
		}
		return *m.ReplyTo
	}
	chats := s.Chats[:1:1]
	if groups, ok := n.(GroupNetwork); ok {
		chats = append(chats, groups.Group())
	}
	for i, to := range chats {
		content, caption := fmt.Sprintf("what is in file %d", i), fmt.Sprintf("caption %d", i)
		network.Attach(to, caption, File{Name: "notes.txt", MIMEType: "text/plain", Content: []byte(content)})
		h.NextEvent()
		if i > 0 {
			if file := answered(to, caption, "said to others", false).Media[0]; file.Ref != "" || file.Problem == "" && file.Token == "" {
				t.Errorf("a file that others learn of comes as %+v, want it without a ref, and with a problem or a token", file)
			}
		}
		quote := answered(to, caption, fmt.Sprintf("what is this, %d?", i), i > 0)
		if got, err := h.Content(quote.Media[0]); err != nil || string(got) != content || quote.Text != caption {
			t.Errorf("the file that is asked about comes as %+v, and the host got %q (%v), want %q", quote, got, err, content)
		}
	}
	if len(h.Limits(chat.Direct).MediaOut) == 0 {
		return
	}
	own := chat.Outgoing{Key: "own file", To: s.first(), Text: "my own", Media: []chat.Media{h.Host.AddFile(sample(chat.File))}}
	if _, err := h.Send(own); err != nil {
		t.Fatalf("send a file: %v", err)
	}
	if quote := answered(s.Chats[0], "my own", "and this?", false); !quote.IsSelf || quote.Media[0].Ref != "" ||
		quote.Media[0].Problem == "" && quote.Media[0].Token == "" {
		t.Errorf("the channel's own file comes as %+v, want it as its own, without a ref, and with a problem or a token", quote)
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
		what := fmt.Sprintf("%d files arrive with their text, in order", len(files))
		eventually(t, what, func() []string { return network.Files(s.Chats[0]) }, are(want...))
		eventually(t, what, sentTo(network, s.Chats[0]), has(text))
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
	for i := range 12 { // more than most networks allow in one message
		m, content := sample(chat.File)
		content = fmt.Appendf(content, ", number %d", i)
		several, want = append(several, h.Host.AddFile(m, content)), append(want, string(content))
	}
	arrives("several files", several...)
	m, content := sample(chat.File)
	for _, length := range []int{1024, 1025, limits.Text.Max} { // networks allow less for a caption than for a text
		if limits.Text.Max == 0 || length <= limits.Text.Max {
			want = append(want, string(content))
			arrives(strings.Repeat("x", length), h.Host.AddFile(m, content))
		}
	}
}

// refusesFiles checks that a channel does not silently lose a file that it cannot send.
func refusesFiles(t testing.TB, s Setup, h *Harness) {
	t.Helper()
	_, err := h.Send(chat.Outgoing{Key: "file", To: s.first(), Text: "with a file", Media: []chat.Media{h.Host.AddFile(sample(chat.File))}})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.MediaRejected || f.MaybeDelivered {
		t.Errorf("a file, for which there is no limit, gives %v, want a failure: %s", err, chat.MediaRejected)
	}
}
