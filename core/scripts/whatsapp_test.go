package scripts_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
)

// whatsapp is a WhatsApp. The ids of its people are as everywhere; it has one group, the kitchen.
type whatsapp struct {
	*whatsapptest.Server
	ids map[int64]types.MessageID // of messages that were seen
}

// whatsappGroup is the id of the group.
const whatsappGroup = 901

func newWhatsApp() *whatsapp {
	w := &whatsapp{whatsapptest.Start(), map[int64]types.MessageID{}}
	for name, id := range people {
		w.person(id).Name = title(name)
	}
	return w
}

// person is the one with an id. The first is +15550000002.
func (w *whatsapp) person(id int64) *whatsapptest.Person { return w.Person(int(id - 1000)) }

func (w *whatsapp) find(name string) (chat, bool) {
	if name == "kitchen" {
		return chat{id: whatsappGroup}, true
	}
	return chat{id: people[name]}, people[name] != 0
}

func (w *whatsapp) jid(in chat) types.JID {
	if in.id == whatsappGroup {
		return w.Group()
	}
	return w.person(in.id).LID
}

func (w *whatsapp) write(_ context.Context, who int64, in chat, p post) error {
	var m *waE2E.Message
	about := &waE2E.ContextInfo{}
	for _, shown := range w.Messages(w.jid(in)) {
		if p.replyTo != 0 && int64(shown.Number) == p.replyTo {
			about = w.Answer(shown, p.text).GetExtendedTextMessage().GetContextInfo()
		}
	}
	switch {
	case p.quote != "" || p.forwarded != "" || p.file != nil && p.media != "document":
		return errors.New("no script of WhatsApp's has needed that yet")
	case p.file != nil:
		m = w.Document(p.file, mime.TypeByExtension(filepath.Ext(p.fileName)), p.fileName)
		m.DocumentMessage.Caption, m.DocumentMessage.ContextInfo = proto.String(p.text), about
	default:
		m = &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String(p.text), ContextInfo: about}}
		text := m.GetExtendedTextMessage()
		if self := w.Owner().LID; strings.Contains(p.text, "@claw_bot") {
			text.Text = proto.String(strings.ReplaceAll(p.text, "@claw_bot", "@"+self.User))
			text.ContextInfo.MentionedJID = []string{self.String()}
		}
	}
	if in.id == whatsappGroup {
		w.person(who).SendGroup(m)
	} else {
		w.person(who).Send(m)
	}
	return nil
}

func (w *whatsapp) edit(who int64, m message, text string) { w.person(who).Edit(w.ids[m.id], text) }

// press answers a question by a number, for there are no buttons.
func (w *whatsapp) press(who int64, m message, data string) {
	if m.in.id == whatsappGroup {
		w.person(who).SendGroup(&waE2E.Message{Conversation: proto.String(data)})
	} else {
		w.person(who).Say(data)
	}
}

func (w *whatsapp) await(ctx context.Context, in chat, fulfil func([]message) bool) ([]message, error) {
	var list []message
	_, err := w.AwaitMessages(ctx, w.jid(in), func(all []whatsapptest.Message) bool {
		list = nil
		numbers := map[types.MessageID]int{}
		for _, m := range all {
			numbers[m.ID], w.ids[int64(m.Number)] = m.Number, m.ID
			if m.Deleted {
				continue
			}
			shown := shownOn(in, m)
			shown.replyTo = int64(numbers[m.ReplyTo])
			list = append(list, shown)
		}
		return fulfil(list)
	})
	return list, err
}

// choice is a line of a question that tells an answer's number.
var choice = regexp.MustCompile(`(?m)^(\d)\. (.*)$`)

// shownOn is a message as a phone shows it. A question's numbers stand for buttons.
func shownOn(in chat, m whatsapptest.Message) message {
	shown := message{in: in, id: int64(m.Number), text: m.Text, reaction: m.Reactions[types.EmptyJID]}
	if document := m.Content.GetDocumentMessage(); document != nil {
		shown.fileName = document.GetFileName()
		shown.file, _ = m.File() // What cannot be read is no file that a script wants.
	}
	if !m.Author.IsEmpty() {
		_, _ = fmt.Sscanf(m.Author.User, "9000%d", &shown.from)
		shown.from += 999
		return shown
	}
	for _, found := range choice.FindAllStringSubmatch(m.Text, -1) {
		shown.buttons = append(shown.buttons, button{found[2], found[1]})
	}
	return shown
}

func (w *whatsapp) taken(ctx context.Context) error { return w.AwaitAcknowledged(ctx) }

func (w *whatsapp) chats() []chat {
	var list []chat
	for _, name := range []string{"anna", "bob", "carol", "kitchen"} {
		if in, _ := w.find(name); len(w.Messages(w.jid(in))) > 0 {
			list = append(list, in)
		}
	}
	return list
}

// pairs is the command of the same name.
func (s *stage) pairs(_ *testscript.TestScript, args []string) error {
	b := s.bots[args[0]]
	if b == nil {
		return fmt.Errorf("there is no bot %q", args[0])
	}
	w, ok := b.network.(*whatsapp)
	if !ok {
		return nil
	}
	ctx, cancel := s.await()
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(s.bin, "clawhost"), "plugin", "login", "-config", filepath.Join(s.dir, "config.hcl"), "-json", args[0])
	command.Env = append(command.Env, "HOME="+s.dir)
	for _, name := range passed[1:] {
		command.Env = append(command.Env, name+"=x") // the config's variables must be there
	}
	out, err := command.StdoutPipe()
	if err := errors.Join(err, command.Start()); err != nil {
		return fmt.Errorf("clawhost plugin login: %w", err)
	}
	var scanned error
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var event struct{ Step struct{ QR string } }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			scanned = errors.Join(scanned, err)
		} else if event.Step.QR != "" {
			scanned = errors.Join(scanned, w.Scan(ctx, event.Step.QR))
		}
	}
	return errors.Join(scanned, command.Wait())
}
