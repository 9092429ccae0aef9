//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// TestBrowser drives the page in Chromium, against a host that does what the messages say.
func TestBrowser(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	dir := t.TempDir()
	heard := make(chan chat.Event, 100)
	hear := func(_ context.Context, e chat.Event) (chat.Verdict, error) {
		switch body := e.Body.(type) {
		case chat.Edited:
			if strings.HasPrefix(body.Text, "too late") {
				return chat.Rejected, nil
			}
		case chat.ButtonPress:
			if body.Data == "/refused" {
				return chat.Rejected, nil
			}
		}
		heard <- e
		return chat.Accepted, nil
	}
	b := start(t, dir, hear)
	listen := strings.TrimPrefix(b.base, "http://")
	seen := make(chan struct{})
	var other *impostor
	hangUp := perform(ctx, t, b, heard, seen)

	t.Setenv("RIG", "1")
	browse(ctx, t, func(said string) bool {
		switch said {
		case "stop":
			hangUp()
			b.stop()
		case "impostor":
			hangUp()
			b.stop()
			other = impersonate(t, listen)
		case "asked again":
			other.awaitAnother(ctx)
		case "start":
			if other != nil {
				other.leave(t)
				other = nil
			}
			b = startAt(t, dir, listen, hear)
			hangUp = perform(ctx, t, b, heard, seen)
		case "seen":
			select {
			case seen <- struct{}{}:
			case <-ctx.Done():
			}
		default:
			return false
		}
		return true
	}, "e2e/chat.mjs", b.base+"/#token="+b.token)
	hangUp()
}

// browse runs a script with the browser. Lines of its output are answered if a handler matches them.
func browse(ctx context.Context, t *testing.T, follow func(said string) bool, script string, args ...string) {
	t.Helper()
	browser := exec.CommandContext(ctx, "node", append([]string{script}, args...)...)
	browser.Stderr = t.Output()
	send, err := browser.StdinPipe()
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
		if !follow(lines.Text()) {
			continue
		}
		if _, err := io.WriteString(send, "done\n"); err != nil {
			t.Error(err)
		}
	}
	if err := browser.Wait(); err != nil {
		t.Error(err)
	}
}

// puppet is an agent that does what it is asked to, or echoes it.
type puppet struct {
	*bundle
	t     *testing.T
	heard <-chan chat.Event
	seen  <-chan struct{} // the browser has seen where an answer has stopped growing
}

// perform has a puppet answer what is heard until it is hung up.
func perform(ctx context.Context, t *testing.T, b *bundle, heard <-chan chat.Event, seen <-chan struct{}) (hangUp func()) {
	ctx, cancel := context.WithCancel(ctx)
	p := puppet{b, t, heard, seen}
	if err := b.SetCommands(ctx, commandsOfTheHost); err != nil {
		t.Error(err)
	}
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			select {
			case e := <-heard:
				p.follow(ctx, e)
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

var commandsOfTheHost = []chat.CommandSpec{
	{Name: "new", Usage: "/new [model] [text]", Summary: "begin a new conversation"},
	{Name: "status", Usage: "/status", Summary: "what is going on"},
	{Name: "stop", Usage: "/stop [keep]", Summary: "stop what is running and drop what waits, or `keep` it"},
	{Name: "model", Usage: "/model [name]", Summary: "show or choose the model"},
	{Name: "think", Usage: "/think off|low|high", Summary: "how much to think"},
}

const question = "**Claude asks to use Bash.**\n\n```\ngit push origin main\n```\n\nPublish the release notes"

func (p puppet) follow(ctx context.Context, e chat.Event) {
	to := chat.Address{Channel: "webchat", Chat: e.Chat.ID, Thread: e.Thread}
	switch body := e.Body.(type) {
	case chat.Message:
		p.answer(ctx, to, body)
	case chat.ButtonPress:
		p.check(p.Edit(ctx, to, body.MessageID, "✅ Allowed once: Bash `git push origin main`", nil))
	case chat.Edited:
		p.say(ctx, chat.Outgoing{To: to, Text: "changed to: " + body.Text})
	case chat.StopRequest:
		p.say(ctx, chat.Outgoing{To: to, Text: "Nothing is running."})
	}
}

func (p puppet) answer(ctx context.Context, to chat.Address, m chat.Message) {
	what, rest, _ := strings.Cut(m.Text, " ")
	switch what {
	case "stream":
		p.check(p.Typing(ctx, to, true))
		answer := streamed + " " + rest
		p.grow(ctx, to, answer, "🔧 Bash: `go test ./plugins/webchat`")
		p.say(ctx, chat.Outgoing{To: to, Text: answer})
	case "slow":
		p.check(p.Draft(ctx, to, 2, "Counting to a million: 1, 2, 3"))
		for {
			select {
			case e := <-p.heard:
				if _, stop := e.Body.(chat.StopRequest); stop {
					p.say(ctx, chat.Outgoing{To: to, Text: "Stopped."})
					return
				}
			case <-ctx.Done(): // the browser has given up
				return
			}
		}
	case "ask":
		p.say(ctx, chat.Outgoing{To: to, Text: question, Buttons: [][]chat.Button{
			{{Label: "✅ Once", Data: "/answer 7F3A once"}, {Label: "✅ This session", Data: "/answer 7F3A session"}, {Label: "✅ Always", Data: "/answer 7F3A always"}},
			{{Label: "❌ No", Data: "/answer 7F3A no"}, {Label: "✍️ No, because …", Data: "/refused"}},
		}})
	case "files":
		p.say(ctx, chat.Outgoing{To: to, Text: "Here you are.", Media: []chat.Media{
			p.store(ctx, chat.Media{Kind: chat.Image, MIMEType: "image/png", FileName: "sunset.png"}, sunset()),
			p.store(ctx, chat.Media{Kind: chat.Image, MIMEType: "image/svg+xml", FileName: "evil.svg"}, []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>window.attacked=1</script></svg>`)),
			p.store(ctx, chat.Media{Kind: chat.File, MIMEType: "text/html", FileName: "evil.html"}, []byte("<script>window.attacked=1</script>")),
			p.store(ctx, chat.Media{Kind: chat.Voice, MIMEType: "audio/wav", FileName: "note.wav"}, silence()),
		}})
	default:
		text := m.Text
		for _, media := range m.Media {
			text += " [" + media.Kind.String() + " " + media.FileName + " " + media.MIMEType + "]"
		}
		p.say(ctx, chat.Outgoing{To: to, Text: text})
	}
	p.check(p.React(ctx, to, m.ID, "👍"))
}

const streamed = "All tests of the web chat pass. Two things were worth a second look:\n\n" +
	"1. **The journal** keeps edits and deletions, so that nothing is lost when the plugin dies.\n" +
	"2. **Drafts** vanish with the message that follows them.\n\n" +
	"```go\nfunc (c *channel) Draft(ctx context.Context, to chat.Address, id int64, text string) error {\n" +
	"\tc.live.draft(to.Thread, text, time.Now().Add(draftTTL))\n\treturn nil\n}\n```\n\n" +
	"| step | before | after |\n|---|--:|--:|\n| first paint | 310 ms | 42 ms |\n| send | 19 ms | 3 ms |\n\n" +
	"I would like to publish the notes next."

// grow shows an answer as it is written, with a tool at work in its midst. It waits until the browser has seen that, and a block of
// code that has begun.
func (p puppet) grow(ctx context.Context, to chat.Address, answer, tool string) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	p.check(p.Draft(ctx, to, 1, tool))
	stops := []string{"edits and deletions", "func (c *channel)"}
	for end := 12; end < len(answer); end += 12 {
		text := strings.ToValidUTF8(answer[:end], "")
		shown := text
		if len(stops) == 2 && strings.Contains(text, "The journal") {
			shown += "\n\n" + tool
		}
		p.check(p.Draft(ctx, to, 1, shown))
		if len(stops) > 0 && strings.Contains(text, stops[0]) {
			stops = stops[1:]
			select {
			case <-p.seen:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p puppet) say(ctx context.Context, out chat.Outgoing) {
	out.Key = uuid.NewString()
	_, err := p.Send(ctx, out)
	p.check(err)
	p.check(p.Typing(ctx, out.To, false))
}

func (p puppet) store(ctx context.Context, m chat.Media, content []byte) chat.Media {
	stored, err := p.files.Upload(ctx, m, bytes.NewReader(content))
	p.check(err)
	return stored
}

func (p puppet) check(err error) {
	if err != nil {
		p.t.Errorf("the puppet: %v", err)
	}
}

// sunset is a picture.
func sunset() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 640, 360))
	for y := range 360 {
		for x := range 640 {
			c := color.RGBA{uint8(250 - y/3), uint8(190 - y/3), uint8(110 + y/5), 255}
			if dx, dy := x-420, y-210; dx*dx+dy*dy < 70*70 {
				c = color.RGBA{255, 236, 190, 255}
			}
			if y > 250 {
				c = color.RGBA{uint8(70 - (y-250)/4), 40, 70, 255}
			}
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// silence is a second of it, as WAV.
func silence() []byte {
	const rate = 8000
	head := "RIFF\x64\x1f\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x40\x1f\x00\x00"
	return append([]byte(head), bytes.Repeat([]byte{128}, rate)...)
}
