package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// An interaction is a press of a button or a command of the menu. Discord has it in no history: what is lost with a session
// cannot be asked for again. To its person it has failed unless it is answered within 3 seconds, and after an answer nobody
// presses again. So it is answered once the host has it, which takes milliseconds; where the host is slow or busy with what
// came before, it is first kept in the plugin's state, from which it is submitted whatever happens to the session. What can
// be had in neither place is not answered, so that its person sees that it failed.

// interaction is what Discord says of one, so far as the bot looks.
type interaction struct {
	ID        string                    `json:"id"`
	AppID     string                    `json:"application_id"`
	Type      discordgo.InteractionType `json:"type"`
	Token     string                    `json:"token,omitempty"` // with which it is answered
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

// who is the interaction's person.
func (i interaction) who() (*discordgo.User, *discordgo.Member) {
	if i.User == nil && i.Member != nil {
		return i.Member.User, &discordgo.Member{Nick: i.Member.Nick}
	}
	return i.User, nil
}

// says is what an interaction says to the host; nil: nothing.
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

// interaction submits one.
func (r *receiver) interaction(ctx context.Context, i interaction) error {
	body := i.says()
	if body == nil {
		return nil
	}
	event := chat.Event{
		ID: interactionEvent(i.ID), At: time.UnixMilli(int64(parseID(i.ID)>>22) + epoch), Sender: r.inbound().sender(i.who()), Body: body,
	}
	if err := r.places.locate(ctx, &event, i.ChannelID, i.GuildID); err != nil {
		return err
	}
	verdict, err := r.submit(ctx, event)
	if err != nil {
		return err
	}
	r.answers.decided(i.ID, verdict)
	return nil
}

// interactionPrefix is of the keys under which interactions are kept.
const interactionPrefix = "interaction/"

// keep stores an interaction, but for what it is answered with.
func (r *receiver) keep(ctx context.Context, i interaction) error {
	ctx, cancel := context.WithTimeout(ctx, r.pace.keep)
	defer cancel()
	i.Token = ""
	raw, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if _, err = r.state.Put(ctx, interactionPrefix+i.ID, raw); err == nil {
		r.kept.Store(true)
	}
	return err
}

// recallInteractions submits those that are kept: of another life, or of a session that was lost, perhaps before they were
// kept.
func (r *receiver) recallInteractions(ctx context.Context) error {
	return each(ctx, r.state, interactionPrefix, func(id string, raw []byte) error {
		var i interaction
		if err := json.Unmarshal(raw, &i); err != nil {
			r.log.Error("a kept interaction cannot be read", "id", id, "error", err)
		} else if err := r.interaction(ctx, i); err != nil {
			return fmt.Errorf("kept interaction %s: %w", id, err)
		}
		return r.state.Delete(ctx, interactionPrefix+id)
	})
}

// answers tell those who answer interactions what the host said of them.
type answers struct {
	mu      sync.Mutex
	waiting map[string]chan chat.Verdict // by the interaction's id
}

// maxWaiting is how many interactions wait for the host at the same time. Discord says under more of them that they failed.
const maxWaiting = 1000

// expect has decided find an interaction, which is to be forgotten; nil: somebody waits for it already, or too many wait.
func (a *answers) expect(id string) <-chan chat.Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, waits := a.waiting[id]; waits || len(a.waiting) >= maxWaiting {
		return nil
	}
	verdict := make(chan chat.Verdict, 1)
	a.waiting[id] = verdict
	return verdict
}

func (a *answers) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// decided tells what the host said, to whom waits for it.
func (a *answers) decided(id string, verdict chat.Verdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if to, waits := a.waiting[id]; waits {
		select {
		case to <- verdict:
		default: // It was told already.
		}
	}
}

// answerable is for how long Discord takes what follows the first answer.
const answerable = 15 * time.Minute

// answer is called when an interaction comes, before it is handled, and returns what answers it, which runs beside
// everything else, and longer than the connection.
func (r *receiver) answer(e *discordgo.Event) func(context.Context) {
	var i interaction
	if decode(e, &i) != nil || i.says() == nil {
		return func(context.Context) {}
	}
	verdict := r.answers.expect(i.ID)
	if verdict == nil {
		return func(context.Context) {}
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, answerable)
		defer cancel()
		defer r.answers.forget(i.ID)
		timer := time.NewTimer(r.pace.patience)
		defer timer.Stop()
		select {
		case v := <-verdict:
			r.reply(ctx, i, v)
			return
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if err := r.keep(ctx, i); err != nil {
			r.log.Warn("an interaction is not acknowledged: it could not be kept", "id", i.ID, "error", err)
			return
		}
		acknowledged := r.acknowledge(ctx, i)
		select {
		case v := <-verdict:
			if err := r.state.Delete(ctx, interactionPrefix+i.ID); err != nil {
				r.log.Debug("an interaction is kept for longer than it must", "id", i.ID, "error", err)
			}
			if acknowledged {
				r.followUp(ctx, i, v)
			}
		case <-ctx.Done():
		}
	}
}

// Types of answers to interactions, and the flag that shows one to the person alone.
const (
	answerNow    = int(discordgo.InteractionResponseChannelMessageWithSource)
	answerLater  = int(discordgo.InteractionResponseDeferredChannelMessageWithSource)
	answerNoMore = int(discordgo.InteractionResponseDeferredMessageUpdate)
	onlyToThem   = int(discordgo.MessageFlagsEphemeral)
)

// note is what the person is told of what the host said; nil: nothing, for what comes of it is seen.
func note(i interaction, v chat.Verdict) map[string]any {
	text := ""
	switch command := i.Type == discordgo.InteractionApplicationCommand; {
	case command && v == chat.Rejected:
		text = "Commands are not taken here from you."
	case command:
		text = "`/" + i.Data.Name + "` is on its way."
	case v == chat.Rejected:
		text = "This button is not for you."
	default:
		return nil
	}
	return map[string]any{"content": text, "flags": onlyToThem, "allowed_mentions": mentions{Parse: []string{}}}
}

// reply answers at once with what the host said.
func (r *receiver) reply(ctx context.Context, i interaction, v chat.Verdict) {
	first := map[string]any{"type": answerNoMore}
	if text := note(i, v); text != nil {
		first = map[string]any{"type": answerNow, "data": text}
	}
	err := r.insist(ctx, "POST answer", http.MethodPost, i.callback(), first)
	if e, ok := errors.AsType[*callError](err); ok && e.code == answeredAlready { // In a life before, or before a cut.
		r.followUp(ctx, i, v)
	}
}

// acknowledge answers before the host has said anything, and tells whether there is something to follow.
func (r *receiver) acknowledge(ctx context.Context, i interaction) bool {
	first := map[string]any{"type": answerNoMore}
	if i.Type == discordgo.InteractionApplicationCommand {
		first = map[string]any{"type": answerLater, "data": map[string]any{"flags": onlyToThem}}
	}
	err := r.insist(ctx, "POST answer", http.MethodPost, i.callback(), first)
	e, ok := errors.AsType[*callError](err)
	return err == nil || ok && e.code == answeredAlready
}

// followUp says behind an acknowledgement what the host said.
func (r *receiver) followUp(ctx context.Context, i interaction, v chat.Verdict) {
	text := note(i, v)
	if text == nil {
		return
	}
	hook := "webhooks/" + i.AppID + "/" + i.Token
	if i.Type == discordgo.InteractionApplicationCommand {
		delete(text, "flags")
		_ = r.insist(ctx, "PATCH answer", http.MethodPatch, hook+"/messages/@original", text)
		return
	}
	_ = r.insist(ctx, "POST follow-up", http.MethodPost, hook, text)
}

func (i interaction) callback() string { return "interactions/" + i.ID + "/" + i.Token + "/callback" }

// insist makes a call on which nothing depends, a few times if that may help.
func (r *receiver) insist(ctx context.Context, what, method, path string, body any) error {
	wait := r.pace.first / 10
	for try := 1; ; try, wait = try+1, 2*wait {
		err := r.rest.call(ctx, what, method, path, body, nil)
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*callError](err); !ok || !e.mayPass() || try == backfillTries || !pause(ctx, max(wait, e.retryAfter)) {
			r.log.Debug("an interaction was not answered", "error", err)
			return err
		}
	}
}
