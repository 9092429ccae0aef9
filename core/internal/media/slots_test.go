package media

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// queue has people take slots, and notes who has one.
type queue struct {
	slots
	has     []string
	release map[string]func()
	stop    map[string]context.CancelCauseFunc
	ended   map[string]error
}

func newQueue() *queue {
	return &queue{slots: slots{others: 2}, release: map[string]func(){}, stop: map[string]context.CancelCauseFunc{}, ended: map[string]error{}}
}

// wants begins to wait for a slot: "anna 2" is the second task of anna, and one whose name begins with "owner" is an owner.
func (q *queue) wants(t *testing.T, task string) {
	ctx, stop := context.WithCancelCause(t.Context())
	q.stop[task] = stop
	name, _, _ := strings.Cut(task, " ")
	go func() {
		release, err := q.take(ctx, person{name, strings.HasPrefix(name, "owner")})
		if err != nil {
			q.ended[task] = err
			return
		}
		q.has, q.release[task] = append(q.has, task), release
	}()
	synctest.Wait()
}

func (q *queue) gives(task string) {
	q.has = slices.DeleteFunc(q.has, func(other string) bool { return other == task })
	q.release[task]()
	synctest.Wait()
}

func (q *queue) expect(t *testing.T, tasks ...string) {
	t.Helper()
	if !slices.Equal(q.has, tasks) {
		t.Fatalf("%q have slots, want %q", q.has, tasks)
	}
}

// Behaviour: media-slots.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for _, task := range []string{"anna 1", "anna 2", "bob 1", "bob 2", "carol 1"} {
			q.wants(t, task)
		}
		q.expect(t, "anna 1", "bob 1") // one each, and two for all
		q.wants(t, "owner 1")
		q.expect(t, "anna 1", "bob 1", "owner 1") // one is an owner's
		q.wants(t, "owner 2")
		q.wants(t, "owner-too 1")
		q.gives("anna 1")
		q.expect(t, "bob 1", "owner 1", "anna 2") // in the order in which they came, as far as they may
		q.gives("bob 1")
		q.expect(t, "owner 1", "anna 2", "bob 2")
		why := errors.New("stopped")
		q.stop["carol 1"](why)
		synctest.Wait()
		if err := q.ended["carol 1"]; !errors.Is(err, why) {
			t.Errorf("who does not wait any longer gets %v", err)
		}
		q.gives("anna 2")
		q.expect(t, "owner 1", "bob 2", "owner-too 1") // an owner may have one of the others'
		q.gives("owner 1")
		q.expect(t, "bob 2", "owner-too 1", "owner 2")
		for _, task := range []string{"bob 2", "owner-too 1", "owner 2"} {
			q.gives(task)
		}
		q.expect(t)
		if len(q.running)+len(q.waiting) > 0 {
			t.Errorf("left are %v and %v", q.running, q.waiting)
		}
	})
}

// In any order of calls, no more slots are given than allowed, and nobody waits for a free one.
// Behaviour: media-slots.
func TestAnySlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &slots{others: rapid.IntRange(1, 3).Draw(t, "others")}
		var all []*waiter
		has := func(w *waiter) bool {
			select {
			case <-w.granted:
				return true
			default:
				return false
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				w := &waiter{person{fmt.Sprint(rapid.IntRange(1, 6).Draw(t, "person")), false}, make(chan struct{})}
				w.owner = w.name > "4"
				s.waiting = append(s.waiting, w)
				s.grant()
				all = append(all, w)
			},
			"leave": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("nobody is there")
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "who")
				s.leave(all[i])
				all = slices.Delete(all, i, i+1)
			},
			"": func(t *rapid.T) {
				running, others, names := 0, 0, map[string]bool{}
				for _, w := range all {
					if !has(w) {
						continue
					}
					if names[w.name] {
						t.Fatalf("%s has two", w.name)
					}
					names[w.name] = true
					if running++; !w.owner {
						others++
					}
				}
				if running > s.others+1 || others > s.others || running != len(s.running) || running+len(s.waiting) != len(all) {
					t.Fatalf("%d have one, %d of them no owners, of %d", running, others, s.others)
				}
				for _, w := range all {
					if !has(w) && !names[w.name] && running <= s.others && (w.owner || others < s.others) {
						t.Fatalf("%s waits for a slot that is free", w.name)
					}
				}
			},
		})
	})
}

func TestForWhom(t *testing.T) {
	t.Parallel()
	anna, plugin := domain.Message{Channel: "a", Sender: chat.Sender{ID: "1"}, Authority: chat.Owner}, domain.Message{Channel: "a", Chat: chat.Chat{ID: "1"}}
	group := anna
	group.Chat = chat.Chat{ID: "2"}
	if personOf(anna) != personOf(group) || personOf(anna) == personOf(plugin) || !personOf(anna).owner || personOf(plugin).owner {
		t.Errorf("%v, %v, %v", personOf(anna), personOf(group), personOf(plugin))
	}
}
