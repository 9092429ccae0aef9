package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// maxMedia limits the files of one message.
	maxMedia = 10
	// maxMessages limits the messages of one turn.
	maxMessages = 30
)

var tooMany = Refusal(fmt.Sprintf("You have sent %d messages in this turn, which is as many as one may send. Say the rest in your answer.", maxMessages))

// Post is a message that the agent sends.
type Post struct {
	// Key is the same for the same tool call, even in a later attempt of the turn.
	Key    domain.Key
	Caller chat.Caller // of the turn
	To     chat.Address
	Kind   chat.Kind
	Text   string   // CommonMark, as the model wrote it; may be empty if there are files
	Media  []string // paths, as the model wrote them
	Reply  string   // the message that it replies to, as in [answer.Reply]; empty: none. Only in the turn's own chat
	// Buttons are the labels of its buttons, in rows. Only in the turn's own chat.
	Buttons [][]string
	Poll    *chat.Poll // nil: none; otherwise it is all that is sent, and Text is empty
}

// Outbox takes what the agent of a turn does in its chats. Errors are read by the model if they are a [Refusal].
type Outbox interface {
	// Post sends a message. The number, by which the agent can change the message, is zero in another chat.
	Post(ctx context.Context, p Post) (number int64, err error)
	// Change changes a message of the turn's own chat.
	Change(ctx context.Context, c Change) error
}

// messageArguments are what the model gives the message tool.
type messageArguments struct {
	Action string   `json:"action"`
	To     string   `json:"to"`
	Text   string   `json:"text"`
	Media  []string `json:"media"`
	ID     string   `json:"id"`
	Emoji  string   `json:"emoji"`

	Buttons [][]string     `json:"buttons"`
	Poll    *pollArguments `json:"poll"`
}

// messageTool writes to a chat.
func (s *Server) messageTool() ownTool {
	return ownTool{
		spec: chat.ToolSpec{
			Name: "message",
			Description: "Send a message to a chat at once, before your answer. Use it to write to another chat, or to send something ahead. " +
				"Unless you are told that it is private, your answer goes to the chat that you were asked in by itself: do not send it with this tool too. " +
				"A wrong \"to\" is answered with the chats that there are. " +
				"In the chat that you were asked in you can also edit or delete a message of yours, and react to a message.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{` +
				`"action":{"type":"string","enum":["send","edit","delete","react"],"description":"\"send\" if left out."},` +
				`"to":{"type":"string","description":"For send: the chat, as channel:chat or channel:chat:thread, such as telegram:123. Leave it out for the chat that you were asked in."},` +
				`"text":{"type":"string","description":"For send and edit: Markdown."},` +
				`"buttons":{"type":"array","items":{"type":"array","items":{"type":"string"}},"description":"For send and edit in the chat that you were asked in: rows of labels. A press comes back as a message: [Pressed m3: label]."},` +
				`"media":{"type":"array","items":{"type":"string"},"description":"For send: paths of files to send along."},` +
				`"poll":{"type":"object","properties":{"question":{"type":"string"},"options":{"type":"array","items":{"type":"string"}},"multiple":{"type":"boolean"},"anonymous":{"type":"boolean"}},"required":["question","options"],"additionalProperties":false,"description":"For send: a poll in place of text and files. You are not told the votes."},` +
				`"id":{"type":"string","description":"For edit, delete and react: the message. What you sent with this tool has an id such as m3, any other the one in its first line. Left out for react: the message that you answer."},` +
				`"emoji":{"type":"string","description":"For react: one emoji; \"\" takes the reaction back."}` +
				`},"additionalProperties":false}`),
		},
		call: s.message,
	}
}

func (s *Server) message(ctx context.Context, t *Turn, arguments json.RawMessage, use string) (string, error) {
	var in messageArguments
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	if len(in.Text) > wire.MaxToolText {
		return "", Refusal(fmt.Sprintf("The text has %d bytes, at most %d are sent.", len(in.Text), wire.MaxToolText))
	}
	switch in.Action {
	case "", "send":
		return s.send(ctx, t, in, use)
	case string(Edit), string(Delete), string(React):
		return t.change(ctx, in, use)
	default:
		return "", Refusal(`The action is "send", "edit", "delete" or "react".`)
	}
}

func (s *Server) send(ctx context.Context, t *Turn, in messageArguments, use string) (string, error) {
	visible := answer.Parse(wire.Repair(in.Text), true)
	for _, m := range visible.Media {
		in.Media = append(in.Media, m.Path)
	}
	switch {
	case in.ID != "" || in.Emoji != "":
		return "", Refusal(`"id" and "emoji" are not for sending. To reply to a message, put [[reply_to:ID]] into the text.`)
	case in.Poll != nil && (in.Text != "" || len(in.Media)+len(in.Buttons) > 0):
		return "", Refusal("A poll is sent alone: send text, files and buttons in another message.")
	case visible.Text == "" && len(in.Media) == 0 && in.Poll == nil:
		return "", Refusal("There is nothing to send: give a text, files, or a poll.")
	case len(in.Media) > maxMedia:
		return "", Refusal(fmt.Sprintf("There are %d files, at most %d are sent.", len(in.Media), maxMedia))
	}
	if err := checkButtons(in.Buttons); err != nil {
		return "", err
	}
	to, kind, err := s.target(ctx, t.caller, strings.TrimSpace(in.To))
	if err != nil {
		return "", err
	}
	post := Post{Caller: t.caller, To: to, Kind: kind, Text: visible.Text, Media: in.Media, Buttons: in.Buttons, Poll: in.Poll.poll()}
	switch {
	case len(in.Buttons) > 0 && to != t.caller.Address:
		return "", Refusal("Buttons are possible only in the chat that you were asked in.")
	case len(in.Buttons) > 0 && visible.Text == "":
		return "", Refusal("Buttons need a text.")
	}
	what := append([]string{chatName(to), visible.Text}, in.Media...)
	if post.Poll != nil {
		what = append(append(what, post.Poll.Question), post.Poll.Options...)
	}
	post.Key = t.key(use, what...)
	done := "The message is on its way to " + chatName(to) + "."
	switch reply := visible.ReplyAt(0); {
	case to == t.caller.Address:
		post.Reply = reply
	case reply != "":
		done += " It is not shown as a reply: that is possible only in the chat that you were asked in."
	}
	if !t.mayPost() {
		return "", tooMany
	}
	number, err := t.outbox.Post(ctx, post)
	if err != nil {
		return "", err
	}
	if number != 0 {
		done += fmt.Sprintf(" Its id is m%d.", number)
	}
	return done, nil
}

// mayPost counts a message and reports whether it is within the limit.
func (t *Turn) mayPost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.posts == maxMessages {
		return false
	}
	t.posts++
	return true
}

// target returns the named chat, if the agent may write to it for the caller.
func (s *Server) target(ctx context.Context, caller chat.Caller, name string) (chat.Address, chat.Kind, error) {
	if name == "" || name == chatName(caller.Address) {
		return caller.Address, caller.Kind, nil
	}
	chats, err := s.reachable(ctx, caller)
	if err != nil {
		return chat.Address{}, 0, err
	}
	i := slices.IndexFunc(chats, func(c domain.Session) bool { return chatName(c.Route) == name })
	switch {
	case i >= 0:
		return chats[i].Route, chats[i].Kind, nil
	case len(chats) == 0:
		return chat.Address{}, 0, Refusal("You may write to no other chat from here. Leave \"to\" out to write to this one.")
	default:
		return chat.Address{}, 0,
			Refusal(fmt.Sprintf("You may write to no chat %q from here, but to these: %s.", wire.Cut(name, wire.MaxName), chatNames(chats)))
	}
}

// key returns the key of a tool call for the store. Without an id of the call it is derived from what is done.
func (t *Turn) key(use string, what ...string) domain.Key {
	if use == "" {
		use = strings.Join(what, "\x00")
	}
	sum := sha256.Sum256([]byte(t.id + "\x00" + use))
	return domain.KeyToolCall.Of(hex.EncodeToString(sum[:]))
}
