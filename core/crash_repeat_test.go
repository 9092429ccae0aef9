package core_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// unmarked returns a text without the mark of a repeat, and whether it had one.
func unmarked(text string) (rest string, marked bool) {
	rest, marked = strings.CutPrefix(text, wording.SentAgain)
	return strings.TrimPrefix(rest, "\n\n"), marked
}

// said is what the bot has said in a chat.
func (w *fileWorld) said(chat int64) (texts []string) {
	for _, m := range w.network.Replies(chat) {
		texts = append(texts, m.Text)
	}
	return texts
}

// awaitEnd waits until the host has ended by itself.
func (w *fileWorld) awaitEnd() {
	w.t.Helper()
	_ = w.host.Wait()
	w.host = nil
	if w.ctx.Err() != nil {
		w.t.Fatalf("the host did not end; said was %q", w.said(w.anna.ID))
	}
}

// A message that Telegram has taken without the host knowing is sent again, once, and says so. One that Telegram certainly has not
// taken does not.
// Behaviour: delivery-repeat.
func TestCrashMarksRepeats(t *testing.T) {
	t.Parallel()
	const once, again = "Here.", wording.SentAgain + "\n\nHere."
	const host, plugin = "clawhost", "clawhost-telegram"
	hang := []telegramtest.Fault{telegramtest.HangAfter()}
	for name, test := range map[string]struct {
		more  string
		point string               // where the host ends; empty: nowhere
		fault []telegramtest.Fault // of the first send
		kill  string               // what is killed when the message has arrived; empty: nothing
		want  []string
	}{
		"the host ends after the send":    {point: "1:sent", want: []string{once, again}},
		"the host ends during the send":   {fault: hang, kill: host, want: []string{once, again}},
		"the plugin ends during the send": {fault: hang, kill: plugin, want: []string{once, again}},
		"the connection ends":             {fault: []telegramtest.Fault{telegramtest.CutAfter()}, want: []string{once, again}},
		"marks are not wanted":            {more: `delivery { mark_repeats = false }`, point: "1:sent", want: []string{once, once}},
		"the host ends before the send":   {point: "1:result", want: []string{once}},
		"the host ends after a refusal": {
			point: "1:postponed", fault: []telegramtest.Fault{telegramtest.TooManyRequests(time.Second)}, want: []string{once},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFileWorld(t, "reply { stream = \"off\" }\n"+test.more)
			for _, fault := range test.fault {
				w.network.Fail("sendMessage", 1, fault)
			}
			w.anna.Send(w.anna.ID, `[[stub {"answer": "Here."}]] where?`)
			w.start(test.point)
			switch {
			case test.point != "":
				w.awaitEnd()
			case test.kill == host:
				w.await(once)
				if err := w.host.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				w.awaitEnd()
			case test.kill == plugin:
				w.await(once)
				for _, pid := range childrenOf(w.host.Process.Pid, plugin) {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
			if w.host == nil {
				w.start("")
			}
			if _, err := w.network.AwaitReplies(w.ctx, w.anna.ID, len(test.want)); err != nil {
				t.Fatalf("%v; said was %q", err, w.said(w.anna.ID))
			}
			w.anna.Send(w.anna.ID, `[[stub {"answer": "Really."}]] sure?`) // behind all that the host might send again
			w.await("Really.")
			if diff := cmp.Diff(append(test.want, "Really."), w.said(w.anna.ID)); diff != "" {
				t.Errorf("the bot said (-want +got):\n%s", diff)
			}
		})
	}
}

// An answer whose preview was sent again says so too: what was sent first stays.
// Behaviour: delivery-repeat.
func TestCrashMarksAnAnswerInPlaceOfARepeatedPreview(t *testing.T) {
	t.Parallel()
	const group = -1001
	w := newFileWorld(t, "")
	w.network.Group(group, "kitchen")
	w.anna.Send(group, `@claw_bot [[stub {"answer": "Here it is, all of it.", "token_delay_ms": 200}]] where?`)
	w.start("1:sent")
	w.awaitEnd()
	first := w.said(group)
	if len(first) != 1 || !strings.HasPrefix("Here it is, all of it.", first[0]) {
		t.Fatalf("the bot said %q", first)
	}
	w.start("")
	w.anna.Send(group, `@claw_bot [[stub {"answer": "Really."}]] sure?`)
	if _, err := w.network.AwaitMessage(w.ctx, group, func(m telegramtest.Message) bool { return m.Text == "Really." }); err != nil {
		t.Fatalf("%v; said was %q", err, w.said(group))
	}
	got := w.said(group)
	if answer, marked := unmarked(got[1]); len(got) != 3 || got[0] != first[0] || !marked || answer == "" {
		t.Errorf("the bot said %q", got)
	}
}
