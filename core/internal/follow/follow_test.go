package follow_test

import (
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/follow"
)

// Behaviour: program-ask.
func TestFollow(t *testing.T) {
	t.Parallel()
	var turns follow.Turns
	say := func(message, text string) { turns.Progress("s", message, agent.Progress{Text: text}) }
	say("a", "nobody listens")
	first, second, other := turns.Follow("s", "a"), turns.Follow("s", "a"), turns.Follow("s", "b")
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
	elsewhere := turns.Follow("t", "b")
	defer elsewhere.Close()
	select {
	case <-other.News():
		t.Error("another turn of the session is news")
	default:
	}
	turns.Held("s", "no space", time.Minute)
	<-other.News() // that of a message before it
	want := follow.Hold{Why: "no space", Wait: time.Minute}
	if second.Held() != want || other.Held() != want || elsewhere.Held() != (follow.Hold{}) {
		t.Errorf("held are %+v, %+v and %+v", second.Held(), other.Held(), elsewhere.Held())
	}
	say("a", "cake")
	<-other.News()
	if second.Held() != (follow.Hold{}) || other.Held() != (follow.Hold{}) || other.Progress().Text != "" {
		t.Errorf("still held: %+v and %+v, %q", second.Held(), other.Held(), other.Progress().Text)
	}
	second.Close()
	other.Close()
	say("a", "nobody listens")
}
