package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestQuotes tell what the quoted message says, of its file, and by whom it is, if the device has heard the name.
// Behaviour: whatsapp-quotes.
func TestQuotes(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.run.Stop()
	devices, err := openDevices(t.Context(), l.StateDir, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	device, err := devices.GetFirstDevice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bob := l.server.Person(2)
	_, _, err = device.Contacts.PutPushName(t.Context(), bob.LID, "Bob")
	if err := errors.Join(err, devices.close()); err != nil {
		t.Fatal(err)
	}
	l.Run().WaitFor(chat.Connected)
	captioned := &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{
		Message: &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{Caption: proto.String("read"), FileName: proto.String("c.txt")}},
	}}
	part := &waE2E.Message{AssociatedChildMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{VideoMessage: &waE2E.VideoMessage{}}}}
	album := &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{ExpectedImageCount: proto.Uint32(2), ExpectedVideoCount: proto.Uint32(1)}}
	file := func(kind chat.MediaKind, mimeType, name string, size int64) []chat.Media {
		return []chat.Media{{Kind: kind, MIMEType: mimeType, FileName: name, Size: size}}
	}
	for _, test := range []struct {
		of        types.JID
		quoted    *waE2E.Message
		name, say string
		files     []chat.Media
	}{
		{bob.LID, l.server.Image([]byte("x"), "image/png", ""), "Bob", "", file(chat.Image, "image/png", "", 1)},
		{bob.LID, l.server.Image([]byte("x"), "image/png", "at sea"), "Bob", "at sea", file(chat.Image, "image/png", "", 1)},
		{bob.LID, l.server.Voice([]byte("x")), "Bob", "", file(chat.Voice, "audio/ogg; codecs=opus", "", 1)},
		{bob.LID, captioned, "Bob", "read", file(chat.File, "", "c.txt", 0)},
		{bob.LID, part, "Bob", "", file(chat.Video, "", "", 0)},
		{bob.LID, album, "Bob", "[album: 3 files]", nil},
		{l.server.Person(3).LID, &waE2E.Message{Conversation: proto.String("who am I?")}, "900000000004", "who am I?", nil},
		{bob.LID, nil, "Bob", "", nil},
	} {
		l.anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("that"), ContextInfo: &waE2E.ContextInfo{
				StanzaID: proto.String("3A"), Participant: proto.String(test.of.String()), QuotedMessage: test.quoted,
			},
		}})
		_, m := l.next()
		want := &chat.Quote{ID: chat.MessageID("3A/" + test.of.String()), SenderName: test.name, Text: test.say, Media: test.files}
		if diff := cmp.Diff(want, m.ReplyTo, cmpopts.IgnoreFields(chat.Media{}, "Token")); diff != "" {
			t.Errorf("quote (-want +got):\n%s", diff)
		}
	}
}

// answering has Anna answer another person's message in the group, and name the account if asked.
func (l life) answering(of types.JID, quoted *waE2E.Message, asked bool) *chat.Quote {
	l.t.Helper()
	m := l.server.Answer(whatsapptest.Message{ID: "3A", Author: of, Content: quoted}, "what is this?")
	if asked {
		m.ExtendedTextMessage.Text = proto.String("@900000000001 what is this?")
		m.ExtendedTextMessage.ContextInfo.MentionedJID = []string{"900000000001@lid"}
	}
	l.anna.SendGroup(m)
	_, message := l.next()
	if message.ReplyTo == nil || len(message.ReplyTo.Media) != 1 || len(message.Media) != 0 {
		l.t.Fatalf("came %+v", message)
	}
	return message.ReplyTo
}

// holds reports whether the host gets a file with a content.
func (l life) holds(m chat.Media, content string) bool {
	got, err := l.Content(m)
	return err == nil && string(got) == content
}

// TestQuotedFiles have tokens, however phones wrap them; the host takes none of the account's own.
// Behaviour: file-quoted.
func TestQuotedFiles(t *testing.T) {
	t.Parallel()
	l := start(t)
	image := func() *waE2E.Message { return l.server.Image([]byte("pixels"), "image/png", "at sea") }
	in := func(m *waE2E.Message) *waE2E.FutureProofMessage { return &waE2E.FutureProofMessage{Message: m} }
	once := image()
	once.ImageMessage.ViewOnce = proto.Bool(true)
	owner, bob := l.server.Owner(), l.server.Person(2)
	for name, test := range map[string]struct {
		of      types.JID
		quoted  *waE2E.Message
		among   bool // others, and not asked of the account
		own     bool
		problem string
	}{
		"asked":                 {of: bob.LID, quoted: image()},
		"named by number":       {of: bob.PN, quoted: image()},
		"disappearing":          {of: bob.LID, quoted: &waE2E.Message{EphemeralMessage: in(image())}},
		"of an album":           {of: bob.LID, quoted: &waE2E.Message{AssociatedChildMessage: in(image())}},
		"edited":                {of: bob.LID, quoted: &waE2E.Message{EditedMessage: in(&waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{EditedMessage: image()}})}},
		"said to others":        {of: bob.LID, quoted: image(), among: true},
		"the account's":         {of: owner.LID, quoted: image(), own: true},
		"the account's, by PN":  {of: owner.PN, quoted: image(), own: true},
		"of a device of it":     {of: types.JID{User: owner.PN.User, Device: 5, Server: owner.PN.Server}, quoted: image(), own: true},
		"to be seen once":       {of: bob.LID, quoted: once, problem: "was to be seen once"},
		"wrapped, to seen once": {of: bob.LID, quoted: &waE2E.Message{EphemeralMessage: in(&waE2E.Message{ViewOnceMessageV2: in(image())})}, problem: "was to be seen once"},
	} {
		quote := l.answering(test.of, test.quoted, !test.among)
		got := quote.Media[0]
		if quote.Text != "at sea" || quote.IsSelf != test.own || got.Problem != test.problem || (test.problem == "") != l.holds(got, "pixels") || test.problem != "" && got.Token != "" {
			t.Errorf("%s: quoted as %+v", name, quote)
		}
	}
	l.anna.Send(l.server.Answer(whatsapptest.Message{ID: "3A", Author: l.anna.LID, Content: image()}, "and this?"))
	if _, m := l.next(); !l.holds(m.ReplyTo.Media[0], "pixels") {
		t.Errorf("asked alone: quoted as %+v", m.ReplyTo)
	}
	nothingLeft(t, l)
}

// TestUnavailableQuotedFiles leave the messages that ask about them: what a phone tells of a file that it quotes may be made up.
// Behaviour: file-quoted.
func TestUnavailableQuotedFiles(t *testing.T) {
	t.Parallel()
	l := start(t)
	bob := l.server.Person(2).LID
	for name, test := range map[string]struct {
		change  func(*waE2E.ImageMessage)
		problem string
	}{
		"without a key":         {func(m *waE2E.ImageMessage) { m.MediaKey = nil }, "could not be fetched"},
		"with another key":      {func(m *waE2E.ImageMessage) { m.MediaKey = bytes.Repeat([]byte{7}, 32) }, "could not be fetched"},
		"with another sum":      {func(m *waE2E.ImageMessage) { m.FileSHA256 = bytes.Repeat([]byte{7}, 32) }, "could not be fetched"},
		"said not to be secret": {func(m *waE2E.ImageMessage) { m.FileEncSHA256 = nil }, "could not be fetched"},
		"nowhere":               {func(m *waE2E.ImageMessage) { m.DirectPath = nil }, "could not be fetched"},
		"with a long path": {func(m *waE2E.ImageMessage) {
			m.DirectPath = proto.String("/x?" + strings.Repeat("x", chat.MaxFileToken))
		}, "could not be fetched"},
		"lost":                    {func(m *waE2E.ImageMessage) { m.DirectPath = proto.String("/nowhere?x=1") }, "could not be fetched"},
		"elsewhere":               {func(m *waE2E.ImageMessage) { m.DirectPath = proto.String("https://evil.example/x") }, "could not be fetched"},
		"larger than what may be": {func(m *waE2E.ImageMessage) { m.FileLength = proto.Uint64(maxFile + 1) }, "is larger than 64 MB"},
	} {
		m := l.server.Image([]byte("pixels"), "image/png", "")
		test.change(m.ImageMessage)
		if _, err := l.Content(l.answering(bob, m, true).Media[0]); !hasProblem(err, test.problem) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := l.answering(bob, l.server.Image([]byte("pixels"), "image/png", ""), true).Media[0]
	l.server.BreakMedia(410)
	if _, err := l.Content(gone); !hasProblem(err, "could not be fetched") {
		t.Errorf("gone: %v", err)
	}
	nothingLeft(t, l)
}

// hasProblem reports whether an error says that a file can never be had, and why.
func hasProblem(err error, problem string) bool {
	failed, ok := errors.AsType[*chat.FileError](err)
	return ok && failed.Problem == problem
}

// TestAnAlbumThatAsks about a file brings it along, though another file's caption names the account, and a part of the
// album was submitted by a previous process.
// Behaviour: file-quoted.
func TestAnAlbumThatAsks(t *testing.T) {
	t.Parallel()
	l := start(t)
	files := l.pictures(2, "")
	files[0].ImageMessage.ContextInfo = l.server.Answer(
		whatsapptest.Message{ID: "3A", Author: l.server.Person(2).LID, Content: l.server.Image([]byte("pixels"), "image/png", "at sea")}, "",
	).ExtendedTextMessage.ContextInfo
	files[1].ImageMessage.Caption = proto.String("is it one of these, @900000000001?")
	files[1].ImageMessage.ContextInfo = &waE2E.ContextInfo{MentionedJID: []string{"900000000001@lid"}}
	album := l.anna.Announce(l.server.Group(), 2)
	l.anna.SendGroup(whatsapptest.OfAlbum(album, 0, files[0]))
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil || len(l.kept()) != 1 {
		t.Fatalf("%v; the host keeps %q", err, l.kept())
	}
	l.run.Stop()
	l.anna.SendGroup(whatsapptest.OfAlbum(album, 1, files[1]))
	l.Run()
	_, m := l.next()
	if diff := cmp.Diff([]int64{1, 2}, sizes(t, m)); diff != "" || m.ReplyTo == nil || !l.holds(m.ReplyTo.Media[0], "pixels") {
		t.Errorf("came %+v, quotes %+v", m, m.ReplyTo)
	}
}

// TestQuotesInTheChatWithOneself are of the account's owner, or of the agent, though both write as the account.
// Behaviour: file-quoted.
func TestQuotesInTheChatWithOneself(t *testing.T) {
	t.Parallel()
	l := start(t, map[string]any{"self_chat": true})
	owner := l.server.Owner()
	photo := l.server.Image([]byte("pixels"), "image/png", "at sea")
	id := owner.SayTo(owner, photo)
	e, _ := l.next()
	answer := func(id types.MessageID, content *waE2E.Message) *chat.Quote {
		owner.SayTo(owner, l.server.Answer(whatsapptest.Message{ID: id, Content: content}, "what is this?"))
		_, m := l.next()
		return m.ReplyTo
	}
	if q := answer(id, photo); q.IsSelf || !l.holds(q.Media[0], "pixels") {
		t.Errorf("the owner's photo is quoted as %+v", q)
	}
	if q := answer("3AUNKNOWN", photo); q.IsSelf || !l.holds(q.Media[0], "pixels") {
		t.Errorf("an old photo of the owner's is quoted as %+v", q)
	}
	file, err := l.env.Media.Upload(t.Context(), chat.Media{Kind: chat.Image, MIMEType: "image/png"}, strings.NewReader("a chart"))
	if err != nil {
		t.Fatal(err)
	}
	sent := l.send(chat.Outgoing{Key: "k", To: chat.Address{Chat: e.Chat.ID}, Media: []chat.Media{file}})
	for _, id := range []types.MessageID{string(sent.IDs[0]), sendID("test", "of a previous process", 0)} {
		if q := answer(id, photo); !q.IsSelf {
			t.Errorf("the agent's photo %s is quoted as %+v", id, q)
		}
	}
}
