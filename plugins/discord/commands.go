package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// What the bot's menu of commands takes.
const (
	maxCommands    = 100
	maxDescription = 100 // characters
)

// argsOption is the one option of each command: what is written behind its name.
const argsOption = "args"

type menuEntry struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Type        int          `json:"type"`
	Options     []menuOption `json:"options"`
}

type menuOption struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        int    `json:"type"`
	Required    bool   `json:"required"`
}

// SetCommands implements sdk.CommandMenu. The menu is the one of all servers and direct channels. A command that somebody
// picks comes back as a [chat.NativeCommand].
func (c *channel) SetCommands(ctx context.Context, commands []chat.CommandSpec) error {
	menu := []menuEntry{}
	for _, command := range commands[:min(len(commands), maxCommands)] {
		menu = append(menu, menuEntry{
			Name: command.Name, Description: description(command), Type: int(discordgo.ChatApplicationCommand),
			Options: []menuOption{{
				Name: argsOption, Description: "what comes behind the command", Type: int(discordgo.ApplicationCommandOptionString),
			}},
		})
	}
	var app struct{ ID string }
	if err := c.rest.call(ctx, "GET application", http.MethodGet, "applications/@me", nil, &app); err != nil {
		return failure(err)
	}
	return failure(c.rest.call(ctx, "PUT commands", http.MethodPut, "applications/"+app.ID+"/commands", menu, nil))
}

// description is what the menu says of a command, which must be something.
func description(command chat.CommandSpec) string {
	for _, text := range []string{command.Summary, command.Usage} {
		line := []rune(strings.Join(strings.Fields(text), " "))
		switch {
		case len(line) > maxDescription:
			return string(line[:maxDescription-1]) + "…"
		case len(line) > 0:
			return string(line)
		}
	}
	return "/" + command.Name
}

// Types of answers to interactions, and the flag that shows one to the person alone.
const (
	answerLater  = int(discordgo.InteractionResponseDeferredChannelMessageWithSource)
	answerNoMore = int(discordgo.InteractionResponseDeferredMessageUpdate)
	onlyToThem   = int(discordgo.MessageFlagsEphemeral)
)

// answers are the answers to interactions that wait for what the host says. The first goes out as soon as the interaction
// comes, for Discord gives 3 seconds and the host may be busy.
type answers struct {
	mu      sync.Mutex
	waiting map[string]chan chat.Verdict // by the interaction's id
}

// expect has decided find an interaction. It is to be forgotten.
func (a *answers) expect(id string) <-chan chat.Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
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
		to <- verdict
		delete(a.waiting, id)
	}
}

// answer is called when an interaction comes, before it is handled, and returns what answers it, which may run beside
// everything else. A button needs no more than the first answer; what became of a command is said in a second one.
func (r *receiver) answer(e *discordgo.Event) func(context.Context) {
	var i discordgo.InteractionCreate
	if decode(e, &i) != nil || i.Interaction == nil || parseID(i.ID) == 0 ||
		i.Type != discordgo.InteractionApplicationCommand && i.Type != discordgo.InteractionMessageComponent {
		return func(context.Context) {}
	}
	verdict := r.answers.expect(i.ID)
	return func(ctx context.Context) {
		defer r.answers.forget(i.ID)
		first := map[string]any{"type": answerNoMore}
		if i.Type == discordgo.InteractionApplicationCommand {
			first = map[string]any{"type": answerLater, "data": map[string]any{"flags": onlyToThem}}
		}
		path := "interactions/" + i.ID + "/" + i.Token + "/callback"
		if !r.insist(ctx, "POST answer", http.MethodPost, path, first) || i.Type != discordgo.InteractionApplicationCommand {
			return
		}
		select {
		case v := <-verdict:
			said := "`/" + i.ApplicationCommandData().Name + "` is on its way."
			if v == chat.Rejected {
				said = "Commands are not taken here from you."
			}
			path := "webhooks/" + i.AppID + "/" + i.Token + "/messages/@original"
			r.insist(ctx, "PATCH answer", http.MethodPatch, path, map[string]any{"content": said, "allowed_mentions": mentions{Parse: []string{}}})
		case <-ctx.Done():
		}
	}
}

// insist makes a call on which nothing depends, a few times if that may help, and tells whether it was of use.
func (r *receiver) insist(ctx context.Context, what, method, path string, body any) bool {
	wait := r.pace.first / 10
	for try := 1; ; try, wait = try+1, 2*wait {
		err := r.rest.call(ctx, what, method, path, body, nil)
		if err == nil {
			return true
		}
		if e, ok := errors.AsType[*callError](err); !ok || !e.mayPass() || try == backfillTries || !pause(ctx, max(wait, e.retryAfter)) {
			r.log.Debug("an interaction was not answered", "error", err)
			return false
		}
	}
}

// interaction submits a picked command or a pressed button.
func (r *receiver) interaction(ctx context.Context, i *discordgo.Interaction) error {
	if i == nil || parseID(i.ID) == 0 || parseID(i.ChannelID) == 0 {
		return nil
	}
	user := i.User
	if user == nil && i.Member != nil {
		user = i.Member.User
	}
	if user == nil {
		return nil
	}
	at := time.UnixMilli(int64(parseID(i.ID)>>22) + epoch)
	event := chat.Event{ID: interactionEvent(i.ID), Sender: inbound{r.self}.sender(user, i.Member), At: at}
	switch data := i.Data.(type) {
	case discordgo.ApplicationCommandInteractionData:
		event.Body = chat.NativeCommand{Name: data.Name, Args: argsOf(data.Options)}
	case discordgo.MessageComponentInteractionData:
		if i.Message == nil {
			return nil
		}
		event.Body = chat.ButtonPress{MessageID: chat.MessageID(i.Message.ID), Data: data.CustomID}
	default:
		return nil
	}
	if err := r.places.locate(ctx, &event, i.ChannelID, i.GuildID); err != nil {
		return err
	}
	verdict, err := r.in.Submit(ctx, event)
	if err != nil {
		return err
	}
	r.judged(event, verdict)
	r.answers.decided(i.ID, verdict)
	return nil
}

func argsOf(options []*discordgo.ApplicationCommandInteractionDataOption) string {
	for _, o := range options {
		if text, ok := o.Value.(string); ok && o.Name == argsOption {
			return text
		}
	}
	return ""
}
