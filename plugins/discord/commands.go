package main

import (
	"context"
	"net/http"
	"strings"
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

// acknowledge answers an interaction as soon as it comes, for Discord gives 3 seconds and the host may be busy. It may run
// beside everything else. A button needs no more; that a command was taken is said by finish.
func (r *receiver) acknowledge(ctx context.Context, e *discordgo.Event) {
	var i discordgo.InteractionCreate
	if decode(e, &i) != nil || i.Interaction == nil || parseID(i.ID) == 0 {
		return
	}
	answer := map[string]any{}
	switch i.Type {
	case discordgo.InteractionApplicationCommand:
		answer["type"], answer["data"] = answerLater, map[string]any{"flags": onlyToThem}
	case discordgo.InteractionMessageComponent:
		answer["type"] = answerNoMore
	default:
		return
	}
	path := "interactions/" + i.ID + "/" + i.Token + "/callback"
	wait := r.pace.first / 10
	for try := 1; ; try, wait = try+1, 2*wait {
		err := r.rest.call(ctx, "POST answer", http.MethodPost, path, answer, nil)
		if err == nil {
			return
		}
		if e, ok := err.(*callError); !ok || !e.mayPass() || try == backfillTries || !pause(ctx, max(wait, e.retryAfter)) {
			r.log.Debug("an interaction was not answered", "error", err)
			return
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
	if i.Type == discordgo.InteractionApplicationCommand {
		r.finish(ctx, i, verdict)
	}
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

// finish says in the answer to a command what became of it. The command's own answer is a message of the chat. Nothing
// depends on it.
func (r *receiver) finish(ctx context.Context, i *discordgo.Interaction, verdict chat.Verdict) {
	said := "`/" + i.ApplicationCommandData().Name + "` is on its way."
	if verdict == chat.Rejected {
		said = "Commands are not taken here from you."
	}
	body := map[string]any{"content": said, "allowed_mentions": mentions{Parse: []string{}}}
	path := "webhooks/" + i.AppID + "/" + i.Token + "/messages/@original"
	wait := r.pace.first / 10
	for try := 1; try <= 3; try, wait = try+1, 2*wait {
		err := r.rest.call(ctx, "PATCH answer", http.MethodPatch, path, body, nil)
		if err == nil || !pause(ctx, wait) {
			return
		}
		r.log.Debug("the answer to a command was not changed", "error", err)
	}
}
