package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	maxPeople = 50  // that a list shows
	maxUserID = 200 // bytes
)

// allowlist shows or changes who may write in direct chats.
func (d desk) allowlist(ctx context.Context, call Call) (string, error) {
	words := strings.Fields(call.Args)
	if len(words) == 0 || len(words) == 1 && strings.EqualFold(words[0], "list") {
		return d.listPeople(ctx, call)
	}
	const options = "Options: list, add [CHANNEL] USER, remove [CHANNEL] USER."
	switch action := strings.ToLower(words[0]); {
	case len(words) == 1 && (action == "add" || action == "remove"):
		return fmt.Sprintf("/allowlist %s needs a user: /allowlist %s [CHANNEL] USER.", action, action), nil
	case len(words) < 2 || len(words) > 3:
		return unknown("allowlist", call.Args, options), nil
	}
	channel, user := call.Caller.Address.Channel, chat.UserID(words[len(words)-1])
	if len(words) == 3 {
		channel = words[1]
	}
	if !d.host.Plugins.Enabled(channel) {
		return fmt.Sprintf("There is no channel %s. /status lists them.", code(channel)), nil
	}
	if len(user) > maxUserID {
		return "This is too long for a user's id.", nil
	}
	name := channel + ":" + string(user)
	switch strings.ToLower(words[0]) {
	case "add":
		if err := d.store.Allow(ctx, channel, user); err != nil {
			return "", err
		}
		d.host.Log.Info("somebody was put on the allowlist", "user", name, "by", who(call.Caller))
		return fmt.Sprintf("%s may write to me now.", code(name)), nil
	case "remove":
		was, err := d.store.Disallow(ctx, channel, user)
		if err != nil {
			return "", err
		}
		d.host.Log.Info("somebody was taken off the allowlist", "user", name, "by", who(call.Caller))
		return d.removed(name, channel, was), nil
	default:
		return unknown("allowlist", call.Args, options), nil
	}
}

// removed says what became of a person's leave, which the config may still give.
func (d desk) removed(name, channel string, was bool) string {
	said := fmt.Sprintf("%s is no longer on the list.", code(name))
	if !was {
		said = fmt.Sprintf("%s is not on the list.", code(name))
	}
	if slices.Contains(d.host.Conversations.People(channel), name) {
		said += " The config file still lets them in."
	}
	return said
}

func (d desk) listPeople(ctx context.Context, call Call) (string, error) {
	allowed, err := d.store.AllowedUsers(ctx)
	if err != nil {
		return "", err
	}
	channel := call.Caller.Address.Channel
	var b strings.Builder
	fmt.Fprintf(&b, "**Who may write to me**\n\nBy the config file, on %s:\n%s", code(channel), list(d.host.Conversations.People(channel)))
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = a.Channel + ":" + string(a.User)
	}
	fmt.Fprintf(&b, "\n\nLet in by an owner:\n%s", list(names))
	return b.String(), nil
}

// list is a list of people.
func list(names []string) string {
	if len(names) == 0 {
		return "\n- nobody"
	}
	var b strings.Builder
	for _, name := range names[:min(len(names), maxPeople)] {
		fmt.Fprintf(&b, "\n- %s", code(name))
	}
	if more := len(names) - maxPeople; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// approve allows what claude asks, or lets a stranger in.
func (d desk) approve(ctx context.Context, call Call) (string, error) {
	if told, known, err := d.verdict(ctx, call, "once"); known || err != nil {
		return told, err
	}
	p, said, err := d.pending(ctx, call)
	if err != nil || said != "" {
		return said, err
	}
	_, err = d.store.ApprovePairing(ctx, p.Channel, p.Code, access.Welcome)
	if errors.Is(err, domain.ErrNotFound) {
		return noRequest, nil
	}
	if err != nil {
		return "", err
	}
	d.host.Log.Info("a stranger was let in", "user", p.Channel+":"+string(p.User), "by", who(call.Caller))
	return fmt.Sprintf("%s, %s, may write to me now, and was told so.", code(p.Name), code(p.Channel+":"+string(p.User))), nil
}

// deny refuses what claude asks, or forgets a stranger's request.
func (d desk) deny(ctx context.Context, call Call) (string, error) {
	if told, known, err := d.verdict(ctx, call, "no"); known || err != nil {
		return told, err
	}
	p, said, err := d.pending(ctx, call)
	if err != nil || said != "" {
		return said, err
	}
	_, err = d.store.RejectPairing(ctx, p.Channel, p.Code)
	if errors.Is(err, domain.ErrNotFound) {
		return noRequest, nil
	}
	if err != nil {
		return "", err
	}
	d.host.Log.Info("a stranger was refused", "user", p.Channel+":"+string(p.User), "by", who(call.Caller))
	return fmt.Sprintf("The request of %s, %s, is refused.", code(p.Name), code(p.Channel+":"+string(p.User))), nil
}

const noRequest = "No request has this code. Codes are good for one hour."

// pending finds the request that a command names by its code, or says why it cannot. Without a code it lists the requests.
func (d desk) pending(ctx context.Context, call Call) (p domain.Pairing, said string, err error) {
	words := strings.Fields(call.Args)
	requests, err := d.store.Pairings(ctx)
	if err != nil {
		return domain.Pairing{}, "", err
	}
	if len(words) == 0 {
		return domain.Pairing{}, requestList(call, requests), nil
	}
	channel := ""
	if len(words) > 1 && d.host.Plugins.Enabled(words[0]) {
		channel, words = words[0], words[1:]
	}
	typed, ok := access.ParseCode(strings.Join(words, ""))
	if !ok {
		return domain.Pairing{}, "This is no pairing code. It has eight letters and digits, none of them I, O, 0 or 1.", nil
	}
	requests = slices.DeleteFunc(requests, func(r domain.Pairing) bool { return r.Code != typed || channel != "" && r.Channel != channel })
	switch len(requests) {
	case 0:
		return domain.Pairing{}, noRequest, nil
	case 1:
		return requests[0], "", nil
	default:
		return domain.Pairing{}, fmt.Sprintf("Requests on several channels have this code. Name the channel: /%s CHANNEL CODE.", call.Name), nil
	}
}

func requestList(call Call, requests []domain.Pairing) string {
	switch {
	case call.Caller.Kind != chat.Direct:
		return fmt.Sprintf("/%s needs a code. In a direct chat it lists those that wait.", call.Name)
	case len(requests) == 0:
		return "Nobody waits to be let in."
	}
	var b strings.Builder
	b.WriteString("**Who waits to be let in**\n")
	for _, p := range requests[:min(len(requests), maxPeople)] {
		fmt.Fprintf(&b, "\n- `%s`: %s, %s", p.Code, code(p.Name), code(p.Channel+":"+string(p.User)))
	}
	b.WriteString("\n\n`/approve CODE` lets somebody in, `/deny CODE` refuses.")
	return b.String()
}
