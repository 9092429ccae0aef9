package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// An interaction is a press of a button or a command of the menu. Discord has no history of interactions, so those that are
// lost with a session cannot be requested again. It shows the person a failure unless the interaction is acknowledged
// within 3 seconds; then people repeat it. So an interaction is submitted to the host if, and only if, it was acknowledged:
// it is stored in the plugin's state, acknowledged, submitted, and removed from the state. After an interruption Discord
// shows how far it got: it accepts the acknowledgement, has it already, or no longer knows the interaction.

// interaction is an interaction, with the fields that the bot uses.
type interaction struct {
	ID        string                    `json:"id"`
	AppID     string                    `json:"application_id"`
	Type      discordgo.InteractionType `json:"type"`
	Token     string                    `json:"token,omitempty"` // for responses, valid for 15 minutes
	GuildID   string                    `json:"guild_id,omitempty"`
	ChannelID string                    `json:"channel_id"`
	User      *discordgo.User           `json:"user,omitempty"` // in a direct channel
	Member    *interactionMember        `json:"member,omitempty"`
	Message   *struct{ ID string }      `json:"message,omitempty"` // with the button
	Data      interactionData           `json:"data"`
}

type interactionMember struct {
	User *discordgo.User `json:"user"`
	Nick string          `json:"nick,omitempty"`
}

type interactionData struct {
	Name     string `json:"name,omitempty"` // the command's
	CustomID string `json:"custom_id,omitempty"`
	Options  []struct {
		Name  string
		Value any
	} `json:"options,omitempty"`
}

// who returns the interaction's person.
func (i interaction) who() (*discordgo.User, *discordgo.Member) {
	if i.User == nil && i.Member != nil {
		return i.Member.User, &discordgo.Member{Nick: i.Member.Nick}
	}
	return i.User, nil
}

// says returns the interaction's event for the host; nil: none.
func (i interaction) says() chat.Body {
	if user, _ := i.who(); user == nil || parseID(i.ID) == 0 || parseID(i.ChannelID) == 0 {
		return nil
	}
	switch {
	case i.Type == discordgo.InteractionApplicationCommand:
		command := chat.NativeCommand{Name: i.Data.Name}
		for _, o := range i.Data.Options {
			if text, ok := o.Value.(string); ok && o.Name == argsOption {
				command.Args = text
			}
		}
		return command
	case i.Type == discordgo.InteractionMessageComponent && i.Message != nil:
		return chat.ButtonPress{MessageID: chat.MessageID(i.Message.ID), Data: i.Data.CustomID}
	default:
		return nil
	}
}

// interaction handles an interaction and returns its status. It stays stored while Discord cannot be reached.
func (r *receiver) interaction(ctx context.Context, i interaction) (interactionStatus, error) {
	body := i.says()
	if body == nil {
		return failed, nil
	}
	c, claimed := r.claims.take(i.ID)
	if !claimed {
		c = newClaim(0)
		c.settle(r.judge(ctx, i))
	}
	defer close(c.verdict)
	what, err := c.wait(ctx)
	switch {
	case err != nil:
		return unknown, err
	case what == unknown:
		r.again = true
		return unknown, nil
	case what == failed:
		r.log.Warn("dropping a command or button press that arrived too late: Discord shows it as failed", "id", i.ID)
		return failed, r.release(ctx, i.ID)
	}
	event := chat.Event{ID: interactionEvent(i.ID), At: i.at(), Sender: r.inbound().sender(i.who()), Body: body}
	if err := r.places.locate(ctx, &event, i.ChannelID, i.GuildID); err != nil {
		return unknown, err
	}
	verdict, err := r.submit(ctx, event)
	if err != nil {
		return unknown, err
	}
	if c.verdict <- verdict; !claimed {
		r.followUp(ctx, i, verdict)
	}
	return acknowledged, r.release(ctx, i.ID)
}

// at returns the time of the interaction.
func (i interaction) at() time.Time { return time.UnixMilli(int64(parseID(i.ID)>>22) + epoch) }

// interactionPrefix is the prefix of the keys under which interactions are stored.
const interactionPrefix = "interaction/"

// keep stores an interaction, with what is needed to acknowledge it.
func (r *receiver) keep(ctx context.Context, i interaction) error {
	raw, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if _, err := r.state.Put(ctx, interactionPrefix+i.ID, raw); err != nil {
		return fmt.Errorf("keep an interaction: %w", err)
	}
	return nil
}

// release deletes a stored interaction.
func (r *receiver) release(ctx context.Context, id string) error {
	if err := r.state.Delete(ctx, interactionPrefix+id); err != nil {
		return fmt.Errorf("release an interaction: %w", err)
	}
	return nil
}

// recallInteractions handles the stored interactions of a previous process, or of a lost session.
func (r *receiver) recallInteractions(ctx context.Context) error {
	err := each(ctx, r.state, interactionPrefix, func(id string, raw []byte) error {
		if r.claims.comes(id, r.first) {
			return nil // it is handled in order
		}
		var i interaction
		if err := json.Unmarshal(raw, &i); err != nil || i.says() == nil {
			r.log.Error("a kept interaction cannot be read", "id", id, "error", err)
			return r.release(ctx, id)
		}
		what, err := r.interaction(ctx, i)
		if err != nil {
			return fmt.Errorf("kept interaction %s: %w", id, err)
		}
		if what == unknown {
			return errNotNow
		}
		return nil
	})
	if errors.Is(err, errNotNow) {
		err = nil
	}
	r.again = r.again || r.claims.orphaned(r.first) // one of them may be stored only now
	return err
}

// errNotNow is returned if Discord cannot be asked about an interaction: the others wait, too.
var errNotNow = errors.New("ask Discord about an interaction")
