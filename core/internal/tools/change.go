package tools

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxEmoji limits a reaction, in bytes: the longest emoji are sequences of several people.
const maxEmoji = 64

// Do is what is done to a message.
type Do string

// What can be done to a message.
const (
	Edit   Do = "edit"
	Delete Do = "delete"
	React  Do = "react"
)

// Change changes a message of the turn's own chat.
type Change struct {
	Key    string // as in [Post]
	Do     Do
	Number int64  // the message, if the agent sent it by this tool; zero: another one
	ID     string // then its id as the agent was told it; empty: the message that the turn answers
	Text   string // Edit: CommonMark
	Emoji  string // React; empty: the reaction is removed
}

// What a change is refused with.
const (
	NoMessage Refusal = "The message that you answer has no id here."
	TooLong   Refusal = "The text is too long for that message. Shorten it, or delete the message and send a new one."
)

// NotKnown refuses a change of a message that the conversation does not have.
func NotKnown(id string) Refusal {
	return Refusal(fmt.Sprintf("There is no message %q in this chat that you know, or there are several. The ids stand in the first lines of messages.", wire.Cut(id, wire.MaxID)))
}

// NotSent refuses a change of a message that is none of the agent's own of this chat.
func NotSent(id string) Refusal {
	return Refusal(fmt.Sprintf("You have sent no message %q to this chat that could be changed so.", wire.Cut(id, wire.MaxID)))
}

// Unsupported refuses what a channel cannot do, and says what it can.
func Unsupported(channel string, do Do, can []Do) Refusal {
	list := "send"
	for _, other := range can {
		list += ", " + string(other)
	}
	return Refusal(fmt.Sprintf("The channel %s cannot %s. It can: %s.", channel, do, list))
}

// change edits, deletes or reacts to a message.
func (t *Turn) change(ctx context.Context, in messageArguments, use string) (string, error) {
	c := Change{Do: Do(in.Action), ID: strings.TrimSpace(in.ID), Emoji: strings.TrimSpace(wire.Repair(in.Emoji))}
	switch {
	case in.To != "" || len(in.Media) > 0:
		return "", Refusal(`"to" and "media" are for sending only.`)
	case c.ID == "" && c.Do != React:
		return "", Refusal(`Which message? Give its "id".`)
	case c.Do != React && c.Emoji != "":
		return "", Refusal(`"emoji" is for reactions only.`)
	case len(c.Emoji) > maxEmoji || strings.ContainsAny(c.Emoji, " \n\t"):
		return "", Refusal("A reaction is one emoji.")
	case c.Do != Edit && in.Text != "":
		return "", Refusal(`"text" is for sending and editing only.`)
	}
	c.Key = t.key(use, in.Action, c.ID, in.Text, c.Emoji)
	done := map[Do]string{Edit: "The message will be changed.", Delete: "The message will be deleted.", React: "The reaction is on its way."}[c.Do]
	if c.Do == Edit {
		visible := answer.Parse(wire.Repair(in.Text), true)
		if c.Text = visible.Text; c.Text == "" {
			return "", Refusal("There is no text. To remove the message, delete it.")
		}
		if len(visible.Media) > 0 {
			done += " Files cannot be added to it."
		}
	}
	if digits, ok := strings.CutPrefix(c.ID, "m"); ok {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n > 0 {
			c.Number = n
		}
	}
	if !t.mayPost() {
		return "", tooMany
	}
	if err := t.outbox.Change(ctx, c); err != nil {
		return "", err
	}
	return done, nil
}
