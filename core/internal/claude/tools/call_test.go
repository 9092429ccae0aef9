package tools_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Whatever goes wrong is a result that the model can understand, and holds nothing that is not for it.
// Behaviour: tools-change.
func TestCallsThatFail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := offering("do")
	p.call = func(_ context.Context, call chat.ToolCall) (chat.ToolResult, error) {
		switch string(call.Arguments) {
		case `{"a":"fail"}`:
			return chat.ToolResult{Text: "no such city", Failed: true}, nil
		case `{"a":"silent"}`:
			return chat.ToolResult{Failed: true}, nil
		case `{}`:
			return chat.ToolResult{}, nil
		default:
			return chat.ToolResult{}, errors.New("the plugin failed (Internal): panic at s3cret")
		}
	}
	process := r.run(t, "p", p)
	turn := r.Turn("1", anna)
	for _, test := range []struct{ tool, arguments, want string }{
		{"p_do", `{"a":"fail"}`, "no such city"},
		{"p_do", `{"a":"silent"}`, "(The tool answered nothing.)"},
		{"p_do", `{"a":"panic"}`, "The tool failed: something is wrong with the plugin p. Go on without it."},
		{"p_do", `[1]`, "The arguments must be a JSON object."},
		{"p_do", `"x"`, "The arguments must be a JSON object."},
		{"p_do", `null`, "The arguments must be a JSON object."},
		{"p_do", `{"a":"` + strings.Repeat("x", wire.MaxArguments) + `"}`, "The arguments have 262152 bytes, at most 262144 are allowed."},
		{"p_undo", `{}`, `There is no tool "p_undo" any more.`},
		{"p_do" + strings.Repeat("o", 300), `{}`, `There is no tool "p_do` + strings.Repeat("o", 252) + `" any more.`},
	} {
		if got := use(t, turn, test.tool, test.arguments); !got.IsError || got.text() != test.want {
			t.Errorf("%s %.40s answers %q (an error: %t)\nwant %q", test.tool, test.arguments, got.text(), got.IsError, test.want)
		}
	}
	if !strings.Contains(r.log(), "panic at s3cret") {
		t.Errorf("the log is\n%s", r.log())
	}
	if got := use(t, turn, "p_do", `{}`); got.IsError || got.text() != "(The tool answered nothing.)" {
		t.Errorf("no answer at all is %+v", got)
	}
	process.Leave()
	if got := use(t, turn, "p_do", `{}`); !got.IsError || !strings.Contains(got.text(), "plugin p, which has this tool, is not running") {
		t.Errorf("a plugin that is down answers %+v", got)
	}
}

func TestACallWithoutArguments(t *testing.T) {
	t.Parallel()
	r, p := newRig(t), offering("do")
	r.run(t, "p", p)
	got := handle(t, r.Turn("1", anna), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"p_do"}}`)
	if read(t, got.Result).text() != "did do" || string(p.called[0].Arguments) != "{}" {
		t.Errorf("%s, called with %v", got.Result, p.called)
	}
}

// blocking is a plugin whose calls last until their context ends.
func blocking(began chan<- struct{}) *fake {
	p := offering("wait")
	p.call = func(ctx context.Context, _ chat.ToolCall) (chat.ToolResult, error) {
		began <- struct{}{}
		<-ctx.Done()
		return chat.ToolResult{}, ctx.Err()
	}
	return p
}

// Where the plugin's clock is the quicker one, its time is over all the same, and nothing is wrong with it.
// Behaviour: tools-timeout.
func TestAPluginThatIsQuickerToGiveUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := offering("wait")
	p.call = func(context.Context, chat.ToolCall) (chat.ToolResult, error) {
		return chat.ToolResult{}, context.DeadlineExceeded
	}
	r.run(t, "p", p)
	if got := use(t, r.Turn("1", anna), "p_wait", `{}`); !got.IsError || !strings.Contains(got.text(), "did not answer within 1m0s") {
		t.Errorf("%+v", got)
	}
}

// Behaviour: tools-timeout.
func TestACallEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run(t, "p", blocking(make(chan struct{}, 1)))
		start := time.Now()
		got := use(t, r.Turn("1", anna), "p_wait", `{}`)
		if !got.IsError || !strings.Contains(got.text(), "did not answer within 1m0s") || time.Since(start) != time.Minute {
			t.Errorf("after %s: %+v", time.Since(start), got)
		}
		if line := r.log(); !strings.Contains(line, "session=telegram:anna plugin=p tool=wait") || !strings.Contains(line, "failed=true") || r.uses != nil {
			t.Errorf("kept %+v, and the log is\n%s", r.uses, line)
		}
	})
}

// Behaviour: tools-timeout.
func TestACallEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	r := newRig(t)
	r.run(t, "p", blocking(began))
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-began; stop() }()
	answer, err := r.Turn("1", anna).Handle(ctx, json.RawMessage(calling(1, "p_wait", "{}")))
	if answer != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("it is answered %s, %v", answer, err)
	}
}

// Behaviour: tools-timeout.
func TestACallIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.run(t, "p", blocking(make(chan struct{}, 2)))
		turn := r.Turn("1", anna)
		answers := make(chan reply, 2)
		for _, id := range []int{7, 8} {
			go func() { answers <- handle(t, turn, calling(id, "p_wait", "{}")) }()
		}
		synctest.Wait()
		handle(t, turn, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"interrupted"}}`)
		synctest.Wait()
		if len(answers) != 1 {
			t.Fatalf("%d calls have ended", len(answers))
		}
		got := <-answers
		if result := read(t, got.Result); string(got.ID) != "7" || !result.IsError || result.text() != "The call was cancelled." {
			t.Errorf("it is answered %s to %s", got.Result, got.ID)
		}
		<-answers // when its time is over
	})
}

// No turn has more than eight calls at work, and none piles up more than it can ever need.
// Behaviour: tools-timeout.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var now, most atomic.Int32
		p := offering("wait")
		p.call = func(context.Context, chat.ToolCall) (chat.ToolResult, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-release
			now.Add(-1)
			return chat.ToolResult{Text: "done"}, nil
		}
		r := newRig(t)
		r.run(t, "p", p)
		turn := r.Turn("1", anna)
		var done, refused atomic.Int32
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				got := read(t, handle(t, turn, calling(i, "p_wait", "{}")).Result)
				switch {
				case got.text() == "done":
					done.Add(1)
				case got.IsError && strings.HasPrefix(got.text(), "Too many tools"):
					refused.Add(1)
				default:
					t.Errorf("a call is answered %+v", got)
				}
			})
		}
		synctest.Wait()
		other := make(chan result)
		go func() { other <- use(t, r.Turn("2", anna), "p_wait", "{}") }()
		synctest.Wait()
		if now.Load() != 9 {
			t.Errorf("%d calls of two turns are at work", now.Load())
		}
		close(release)
		calls.Wait()
		if got := <-other; got.IsError || done.Load() != 72 || refused.Load() != 28 || most.Load() > 9 {
			t.Errorf("%d were answered, %d refused, at most %d at the same time; another turn's was answered %+v", done.Load(), refused.Load(), most.Load(), got)
		}
	})
}

// Behaviour: tools-pictures.
func TestFilesOfATool(t *testing.T) {
	t.Parallel()
	const large = 4 << 20
	var encoded strings.Builder
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	padded := func(bytes int) string { return encoded.String() + strings.Repeat("x", bytes-encoded.Len()) }
	kept, refs := stored(t, "p", padded(100), padded(101), padded(6<<20), "<!DOCTYPE html>",
		padded(large), padded(large)+"2", padded(large)+"3")
	r := newRig(t, func(o *tools.Options) { o.Files = kept })
	picture := func(ref chat.MediaRef, mime string) chat.Media {
		return chat.Media{Ref: ref, Kind: chat.Image, MIMEType: mime, FileName: "a.png", Size: 9}
	}
	p := offering("draw")
	p.call = func(context.Context, chat.ToolCall) (chat.ToolResult, error) {
		return chat.ToolResult{Text: "drawn", Media: []chat.Media{
			picture(refs[0], "image/jpeg"), picture(refs[1], "image/tiff"), picture("gone", "image/png"),
			picture(refs[2], "image/png"), picture(refs[3], "image/png"),
			picture(refs[4], "image/png"), picture(refs[5], "image/png"), picture(refs[6], "image/png"),
		}}, nil
	}
	r.run(t, "p", p)
	turn := r.Turn("1", anna)
	got := use(t, turn, "p_draw", `{}`)
	if got.IsError || len(got.Content) != 9 {
		t.Fatalf("the result is %+v", got)
	}
	for i, want := range map[int]string{1: padded(100), 6: padded(large), 7: padded(large) + "2"} {
		data, err := base64.StdEncoding.DecodeString(got.Content[i].Data)
		if got.Content[i].Type != "image" || got.Content[i].MIMEType != "image/png" || string(data) != want || err != nil {
			t.Errorf("picture %d is %s %s of %d bytes, %v", i, got.Content[i].Type, got.Content[i].MIMEType, len(data), err)
		}
	}
	for _, i := range []int{0, 2, 3, 4, 5, 8} { // the last does not fit
		if c := got.Content[i]; c.Type != "text" || c.Data != "" || i > 0 && !strings.Contains(c.Text, `cannot be shown here: image "a.png"`) {
			t.Errorf("content %d is a %s: %s", i, c.Type, c.Text)
		}
	}
	p.call = func(context.Context, chat.ToolCall) (chat.ToolResult, error) {
		return chat.ToolResult{Media: []chat.Media{picture(refs[0], "image/png")}, Failed: true}, nil
	}
	if got := use(t, turn, "p_draw", `{}`); !got.IsError || len(got.Content) != 1 || got.Content[0].Type != "image" {
		t.Errorf("an image of a failure is %+v", got)
	}
}
