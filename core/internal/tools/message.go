package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// maxMedia limits the files of one message.
	maxMedia = 10
	// maxMessages limits the messages of one turn.
	maxMessages = 30
)

// Post is a message that the agent sends.
type Post struct {
	// Key is the same for the same tool call, also in a later attempt of the turn.
	Key    string
	Caller chat.Caller // of the turn
	To     chat.Address
	Kind   chat.Kind
	Text   string   // CommonMark, as the model wrote it; may be empty if there are files
	Media  []string // paths, as the model wrote them
	Reply  string   // the message that it replies to, as in [answer.Reply]; empty: none. Only in the turn's own chat
}

// messageTool sends to a chat.
func (s *Server) messageTool() ownTool {
	return ownTool{
		spec: chat.ToolSpec{
			Name: "message",
			Description: "Send a message to a chat at once, before your answer. Use it to write to another chat, or to send something ahead. " +
				"Your answer goes to the chat that you were asked in by itself: do not send it with this tool too. " +
				"A wrong \"to\" is answered with the chats that there are.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{` +
				`"to":{"type":"string","description":"The chat, as channel:chat or channel:chat:thread, such as telegram:123. Leave it out for the chat that you were asked in."},` +
				`"text":{"type":"string","description":"Markdown."},` +
				`"media":{"type":"array","items":{"type":"string"},"description":"Paths of files to send along."}` +
				`},"additionalProperties":false}`),
		},
		call: s.message,
	}
}

func (s *Server) message(ctx context.Context, t *Turn, arguments json.RawMessage, use string) (string, error) {
	var in struct {
		To    string   `json:"to"`
		Text  string   `json:"text"`
		Media []string `json:"media"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	if len(in.Text) > wire.MaxToolText {
		return "", Refusal(fmt.Sprintf("The text has %d bytes, at most %d are sent.", len(in.Text), wire.MaxToolText))
	}
	visible := answer.Parse(wire.Repair(in.Text), true)
	for _, m := range visible.Media {
		in.Media = append(in.Media, m.Path)
	}
	switch {
	case visible.Text == "" && len(in.Media) == 0:
		return "", Refusal("There is nothing to send: give a text, or files.")
	case len(in.Media) > maxMedia:
		return "", Refusal(fmt.Sprintf("There are %d files, at most %d are sent.", len(in.Media), maxMedia))
	}
	to, kind, err := s.target(ctx, t.caller, strings.TrimSpace(in.To))
	if err != nil {
		return "", err
	}
	post := Post{Caller: t.caller, To: to, Kind: kind, Text: visible.Text, Media: in.Media}
	post.Key = t.key(post, use)
	done := "The message is on its way to " + chatName(to) + "."
	switch reply := visible.ReplyAt(0); {
	case to == t.caller.Address:
		post.Reply = reply
	case reply != "":
		done += " It is not shown as a reply: that is possible only in the chat that you were asked in."
	}
	if !t.mayPost() {
		return "", Refusal(fmt.Sprintf("You have sent %d messages in this turn, which is as many as one may send. Say the rest in your answer.", maxMessages))
	}
	if err := t.post(ctx, post); err != nil {
		return "", err
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
		return chat.Address{}, 0, Refusal(fmt.Sprintf("You may write to no chat %q from here, but to these: %s.", wire.Cut(name, wire.MaxName), chatNames(chats)))
	}
}

// key returns the message's key for the store. Without an id of the call it is derived from the message.
func (t *Turn) key(p Post, use string) string {
	if use == "" {
		use = strings.Join(append([]string{chatName(p.To), p.Text}, p.Media...), "\x00")
	}
	sum := sha256.Sum256([]byte(t.id + "\x00" + use))
	return "message:" + hex.EncodeToString(sum[:])
}
