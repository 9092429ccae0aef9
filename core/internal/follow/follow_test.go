package follow_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/follow"
)

// Behaviour: program-ask.
func TestFollow(t *testing.T) {
	t.Parallel()
	var turns follow.Turns
	say := func(message, text string) { turns.Progress(message, agent.Progress{Text: text}) }
	say("a", "nobody listens")
	first, second, other := turns.Follow("a"), turns.Follow("a"), turns.Follow("b")
	say("a", "t")
	say("a", "tea")
	for name, f := range map[string]*follow.Follower{"first": first, "second": second} {
		select {
		case <-f.News():
		default:
			t.Errorf("the %s has no news", name)
		}
		select {
		case <-f.News():
			t.Errorf("the %s has the same news twice", name)
		default:
		}
		if text := f.Progress().Text; text != "tea" {
			t.Errorf("the %s follows %q", name, text)
		}
	}
	first.Close()
	say("a", "teapot")
	if first.Progress().Text != "tea" || second.Progress().Text != "teapot" || other.Progress().Text != "" {
		t.Errorf("then they follow %q, %q and %q", first.Progress().Text, second.Progress().Text, other.Progress().Text)
	}
	second.Close()
	other.Close()
	say("a", "nobody listens")
}
