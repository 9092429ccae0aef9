package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxMedia is how many files one message may have.
const maxMedia = 10

// Post is a message that the agent sends.
type Post struct {
	// Key is the same for the same use of the tool, also in a later attempt of the turn.
	Key    string
	Caller chat.Caller // of the turn
	To     chat.Address
	Kind   chat.Kind
	Text   string   // CommonMark, as the model wrote it; may be empty if there are files
	Media  []string // paths, as the model wrote them
}

// Sent is a message that was sent in the course of a turn.
type Sent struct {
	To    chat.Address
	Text  string
	Media []string
}

// Sent returns what the turn's message tool has sent so far, in order.
func (t *Turn) Sent() []Sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sent)
}

// Said tells whether the turn's message tool has sent this very text to the turn's own chat, so that it need not be sent
// again as the answer. Spaces do not count.
func (t *Turn) Said(text string) bool {
	words := strings.Join(strings.Fields(text), " ")
	return words != "" && slices.ContainsFunc(t.Sent(), func(s Sent) bool {
		return s.To == t.caller.Address && strings.Join(strings.Fields(s.Text), " ") == words
	})
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
	switch {
	case strings.TrimSpace(in.Text) == "" && len(in.Media) == 0:
		return "", Refusal("There is nothing to send: give a text, or files.")
	case len(in.Text) > wire.MaxToolText:
		return "", Refusal(fmt.Sprintf("The text has %d bytes, at most %d are sent.", len(in.Text), wire.MaxToolText))
	case len(in.Media) > maxMedia:
		return "", Refusal(fmt.Sprintf("There are %d files, at most %d are sent.", len(in.Media), maxMedia))
	}
	to, kind, err := s.target(ctx, t.caller, strings.TrimSpace(in.To))
	if err != nil {
		return "", err
	}
	post := Post{Caller: t.caller, To: to, Kind: kind, Text: wire.Repair(in.Text), Media: in.Media}
	post.Key = t.key(post, use)
	if err := s.options.Post(ctx, post); err != nil {
		return "", err
	}
	t.mu.Lock()
	t.sent = append(t.sent, Sent{To: to, Text: post.Text, Media: in.Media})
	t.mu.Unlock()
	return "The message is on its way to " + chatName(to) + ".", nil
}

// target is the chat of a name that the caller may have the agent write to.
func (s *Server) target(ctx context.Context, caller chat.Caller, name string) (chat.Address, chat.Kind, error) {
	if name == "" || name == chatName(caller.Address) {
		return caller.Address, caller.Kind, nil
	}
	chats, err := s.reachable(ctx, caller)
	if err != nil {
		return chat.Address{}, 0, err
	}
	i := slices.IndexFunc(chats, func(c store.Session) bool { return chatName(c.Route) == name })
	switch {
	case i >= 0:
		return chats[i].Route, chats[i].Kind, nil
	case len(chats) == 0:
		return chat.Address{}, 0, Refusal("You may write to no other chat from here. Leave \"to\" out to write to this one.")
	default:
		return chat.Address{}, 0, Refusal(fmt.Sprintf("You may write to no chat %q from here, but to these: %s.", wire.Cut(name, wire.MaxName), chatNames(chats)))
	}
}

// key names a message for the store. Without the use's own id the message stands for it.
func (t *Turn) key(p Post, use string) string {
	if use == "" {
		use = strings.Join(append([]string{chatName(p.To), p.Text}, p.Media...), "\x00")
	}
	sum := sha256.Sum256([]byte(t.id + "\x00" + use))
	return "message:" + hex.EncodeToString(sum[:])
}
