package whatsapptest

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // The device store's driver.
)

// wire is a server, and the wire to a device that is logged in: what goes out stays in the queue.
func wire(t *testing.T) (*Server, *conn) {
	t.Helper()
	s := New(t)
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?mode=memory&cache=shared&_pragma=foreign_keys(1)", strings.ReplaceAll(t.Name(), "/", "-")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	container := sqlstore.NewWithDB(db, "sqlite", waLog.Noop)
	if err := container.Upgrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Adopt(t.Context(), container.NewDevice()); err != nil {
		t.Fatal(err)
	}
	c := newConn(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.logins = c, 1
	return s, c
}

// sent names what is on the wire, and takes it off.
func (c *conn) sent(t *testing.T) (list []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.queue {
		if o.end {
			list = append(list, "end")
			continue
		}
		var node *waBinary.Node
		plain, err := waBinary.Unpack(o.plain)
		if err == nil {
			node, err = waBinary.Unmarshal(plain)
		}
		switch {
		case err != nil:
			list = append(list, "garbage")
		default:
			attrs := node.AttrGetter()
			list = append(list, fmt.Sprintf("%s %s %s", node.Tag, attrs.OptionalString("id"), attrs.OptionalString("error")))
		}
	}
	c.queue = nil
	return list
}

// TestTroubleComesAsItIsOrdered: each fault happens, and the same for a seed.
func TestTroubleComesAsItIsOrdered(t *testing.T) {
	t.Parallel()
	const messages = 60
	var runs [][]string
	for run, seed := range []uint64{7, 7, 8} {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			s, c := wire(t)
			s.Fault(seed, Faults{Duplicate: 0.2, Reorder: 0.2, Garbage: 0.2})
			anna := s.Person(1)
			s.mu.Lock()
			s.current = nil
			s.mu.Unlock()
			for n := range messages {
				anna.Say(fmt.Sprint(n))
			}
			s.mu.Lock()
			s.current = c
			err := s.flush()
			if err == nil {
				err = s.flush() // What was overtaken comes now.
			}
			list := c.sent(t)
			s.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, list)
			seen := map[string]int{}
			var order []string
			for _, what := range list {
				if strings.HasPrefix(what, "message 3AFE") {
					if seen[what]++; seen[what] == 1 {
						order = append(order, what)
					}
				}
			}
			twice := 0
			for _, times := range seen {
				twice += times - 1
			}
			nonsense := len(list) - len(order) - twice
			if len(seen) != messages || twice < messages/20 || twice > messages/2 || nonsense < messages/20 || slices.IsSorted(order) {
				t.Errorf("of %d messages %d came, %d of them twice, with %d pieces of nonsense; in order %t", messages, len(seen), twice, nonsense, slices.IsSorted(order))
			}
		})
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
		t.Errorf("the same seed brings other trouble:\n%s", diff)
	}
	if slices.Equal(runs[0], runs[2]) {
		t.Error("another seed brings the same trouble")
	}
}

// TestConnectionsThatEnd cut what is under way; what was not acknowledged comes again on the next one.
func TestConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults Faults
		want   []string
	}{
		"cut":    {Faults{Cut: 1}, []string{"message 3AFE000100000001 ", "end"}},
		"closed": {Faults{Close: 1}, []string{"message 3AFE000100000001 ", "stream:error  ", "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := wire(t)
			s.Fault(1, test.faults)
			id := s.Person(1).Say("hello")
			if diff := cmp.Diff(test.want, c.sent(t)); diff != "" {
				t.Errorf("on the wire (-want +got):\n%s", diff)
			}
			next := newConn(nil)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.faults, s.current = Faults{}, next
			err := s.flush()
			if again := next.sent(t); err != nil || !slices.Equal(again, []string{"message " + id + " "}) {
				t.Errorf("the next connection has %q, %v", again, err)
			}
		})
	}
}

// TestThrottlingRefuses what the device sends, and it does not arrive.
func TestThrottlingRefuses(t *testing.T) {
	t.Parallel()
	s, c := wire(t)
	anna := s.Person(1)
	s.Fault(1, Faults{Throttle: 1})
	s.mu.Lock()
	err := s.take(c, &waBinary.Node{Tag: "message", Attrs: waBinary.Attrs{"id": "X", "to": anna.LID}})
	s.mu.Unlock()
	if got := c.sent(t); err != nil || !slices.Equal(got, []string{"ack X 429"}) || len(anna.Heard()) > 0 {
		t.Errorf("the answer is %q, %v", got, err)
	}
}

// TestChatsShowWhatPhonesShow: people change what they wrote themselves, and only for a while.
func TestChatsShowWhatPhonesShow(t *testing.T) {
	t.Parallel()
	s := New(t)
	anna, bob := s.Person(1), s.Person(2)
	say := func(p *Person, text string) types.MessageID {
		return p.SendGroup(&waE2E.Message{Conversation: proto.String(text)})
	}
	edit := func(p *Person, id types.MessageID, text string) {
		p.SendGroup(&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{ID: proto.String(id)},
			EditedMessage: &waE2E.Message{Conversation: proto.String(text)},
		}})
	}
	first, second, third := say(anna, "one"), say(anna, "two"), say(bob, "three")
	edit(anna, first, "one, edited")
	edit(bob, second, "not Bob's")
	bob.SendGroup(&waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{Key: &waCommon.MessageKey{ID: proto.String(second)}, Text: proto.String("👍")}})
	bob.SendGroup(&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_REVOKE.Enum(), Key: &waCommon.MessageKey{ID: proto.String(third), FromMe: proto.Bool(true)},
	}})
	s.Age(editWindow)
	edit(anna, first, "too late")
	anna.Say("elsewhere")
	list, err := s.AwaitMessages(t.Context(), s.Group(), func(all []Message) bool { return len(all) == 3 })
	if err != nil {
		t.Fatal(err)
	}
	if m := list[0]; m.Text != "one, edited" || m.Edits != 1 || m.Author != anna.LID || m.Number != 1 {
		t.Errorf("the first is %+v", m)
	}
	if m := list[1]; m.Text != "two" || !maps.Equal(m.Reactions, map[types.JID]string{bob.LID: "👍"}) {
		t.Errorf("the second is %+v", m)
	}
	if m := list[2]; !m.Deleted || time.Since(m.at) < editWindow {
		t.Errorf("the third is %+v", m)
	}
	if direct := s.Messages(anna.LID); len(direct) != 1 || direct[0].Text != "elsewhere" {
		t.Errorf("the direct chat shows %+v", direct)
	}
}
