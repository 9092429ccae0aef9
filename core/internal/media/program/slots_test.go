package program_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/sdk/chat"
)

// queue has people take slots, and notes who has one.
type queue struct {
	program.Slots
	mutex   sync.Mutex
	has     []string
	release map[string]func()
	stop    map[string]context.CancelCauseFunc
	ended   map[string]error
}

func newQueue() *queue {
	return &queue{release: map[string]func(){}, stop: map[string]context.CancelCauseFunc{}, ended: map[string]error{}}
}

// message is one of a person, who is an owner if the name says so.
func message(name string) domain.Message {
	m := domain.Message{Channel: "a", Sender: chat.Sender{ID: chat.UserID(name)}}
	if strings.HasPrefix(name, "owner") {
		m.Authority = chat.Owner
	}
	return m
}

// wants begins to wait for a slot: "anna 2" is the second task of anna, and one whose name begins with "owner" is an owner.
func (q *queue) wants(t *testing.T, task string) {
	ctx, stop := context.WithCancelCause(t.Context())
	q.stop[task] = stop
	name, _, _ := strings.Cut(task, " ")
	go func() {
		release, err := q.Take(ctx, program.PersonOf(message(name)))
		q.mutex.Lock()
		defer q.mutex.Unlock()
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
		for _, task := range []string{"anna 3", "bob 3"} {
			q.wants(t, task)
		}
		q.expect(t, "anna 3", "bob 3") // nothing is left of those before
	})
}

// In any order of calls, no more slots are given than allowed, and no one waits for a free one.
// Behaviour: media-slots.
func TestAnySlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) { // without the deadline, which has no meaning in a bubble
			q, wanted, serial := newQueue(), []string{}, 0
			r.Repeat(map[string]func(*rapid.T){
				"take": func(r *rapid.T) {
					serial++
					task := fmt.Sprintf("%s %d", rapid.SampledFrom([]string{"anna", "bob", "carol", "dora", "owner", "owner-too"}).Draw(r, "person"), serial)
					q.wants(t, task)
					wanted = append(wanted, task)
				},
				"leave": func(r *rapid.T) {
					if len(wanted) == 0 {
						r.Skip("nobody is there")
					}
					task := rapid.SampledFrom(wanted).Draw(r, "who")
					wanted = slices.DeleteFunc(wanted, func(other string) bool { return other == task })
					if slices.Contains(q.has, task) {
						q.gives(task)
						return
					}
					q.stop[task](errors.New("stopped"))
					synctest.Wait()
				},
				"": func(r *rapid.T) {
					others, names := 0, map[string]bool{}
					for _, task := range q.has {
						name, _, _ := strings.Cut(task, " ")
						if names[name] {
							r.Fatalf("%s has two", name)
						}
						names[name] = true
						if !strings.HasPrefix(name, "owner") {
							others++
						}
					}
					if len(q.has) > 3 || others > 2 {
						r.Fatalf("%q have one", q.has)
					}
					for _, task := range wanted {
						name, _, _ := strings.Cut(task, " ")
						if !slices.Contains(q.has, task) && !names[name] && len(q.has) < 3 && (strings.HasPrefix(name, "owner") || others < 2) {
							r.Fatalf("%s waits for a slot that is free", task)
						}
					}
				},
			})
			for _, task := range wanted {
				q.stop[task](nil)
			}
			synctest.Wait()
		})
	})
}

func TestPersonOf(t *testing.T) {
	t.Parallel()
	anna, plugin := domain.Message{Channel: "a", Sender: chat.Sender{ID: "1"}, Authority: chat.Owner}, domain.Message{Channel: "a", Chat: chat.Chat{ID: "1"}}
	group := anna
	group.Chat = chat.Chat{ID: "2"}
	if program.PersonOf(anna) != program.PersonOf(group) || program.PersonOf(anna) == program.PersonOf(plugin) {
		t.Errorf("%v, %v, %v", program.PersonOf(anna), program.PersonOf(group), program.PersonOf(plugin))
	}
}
