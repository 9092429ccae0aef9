package tools

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/text/answer"
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
	Key    domain.Key // as in [Post]
	Do     Do
	Number int64  // the message, if the agent sent it by this tool; zero: another one
	ID     string // then its id as the agent knows it; empty: the message that the turn answers
	Text   string // Edit: CommonMark
	Emoji  string // React; empty: the reaction is removed
	// Buttons are as in [Post]. An edit without them removes those that there are.
	Buttons [][]string
}

// maxLabel limits the label of a button, in bytes.
const maxLabel = 64

// checkButtons returns a [Refusal] for labels that are unreadable.
func checkButtons(rows [][]string) error {
	for _, row := range rows {
		if len(row) == 0 {
			return Refusal("A row of buttons is empty.")
		}
		for i, label := range row {
			if row[i] = strings.Join(strings.Fields(wire.Repair(label)), " "); row[i] == "" || len(row[i]) > maxLabel {
				return Refusal(fmt.Sprintf("A button's label has 1 to %d bytes.", maxLabel))
			}
		}
	}
	return nil
}

// What a change is refused with.
const (
	NoButtons Refusal = "Only what you sent with this tool can have buttons."
	NoMessage Refusal = "The message that you answer has no id here."
	TooLong   Refusal = "The text is too long for that message. Shorten it, or delete the message and send a new one."
)

// NotKnown refuses a change of a message that the conversation does not have.
func NotKnown(id string) Refusal {
	return Refusal(fmt.Sprintf("There is no message %q in this chat that you know, or there are several. The ids stand in the first lines of messages.", wire.Cut(id, wire.MaxID)))
}

// NotSent refuses a change of a message that is not one of the agent's own in this chat.
func NotSent(id string) Refusal {
	return Refusal(fmt.Sprintf("You have sent no message %q to this chat that could be changed so.", wire.Cut(id, wire.MaxID)))
}

// Buttons refuses buttons that a channel cannot show, and says which it can.
func Buttons(channel string, rows, columns int) Refusal {
	if rows == 0 || columns == 0 {
		return Refusal(fmt.Sprintf("The channel %s has no buttons. List the choices in the text, or ask with AskUserQuestion.", channel))
	}
	return Refusal(fmt.Sprintf("The channel %s shows at most %d rows of %d buttons.", channel, rows, columns))
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
	c := Change{Do: Do(in.Action), Buttons: in.Buttons, ID: strings.TrimSpace(in.ID), Emoji: strings.TrimSpace(wire.Repair(in.Emoji))}
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
	case in.Poll != nil:
		return "", Refusal(`"poll" is for sending only.`)
	case c.Do != Edit && len(in.Buttons) > 0:
		return "", Refusal(`"buttons" are for sending and editing only.`)
	}
	if err := checkButtons(c.Buttons); err != nil {
		return "", err
	}
	c.Key = t.key(use, in.Action, c.ID, in.Text, c.Emoji)
	done := map[Do]string{
		Edit: "The message will be changed.", Delete: "The message will be deleted.",
		React: "The reaction is on its way.",
	}[c.Do]
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
