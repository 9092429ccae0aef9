package command

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxUserID bounds a user id, in bytes.
const maxUserID = 200

// allowlist shows or changes who may write in direct chats.
func (d hostCommands) allowlist(ctx context.Context, call Call) (string, error) {
	words := strings.Fields(call.Args)
	if len(words) == 0 || len(words) == 1 && strings.EqualFold(words[0], "list") {
		return d.listPeople(ctx, call)
	}
	switch action := strings.ToLower(words[0]); {
	case len(words) == 1 && (action == "add" || action == "remove"):
		return wording.AllowlistNeedsUser(action), nil
	case len(words) < 2 || len(words) > 3:
		return wording.UnknownArgument("allowlist", call.Args, wording.AllowlistOptions), nil
	}
	channel, user := call.Caller.Address.Channel, chat.UserID(words[len(words)-1])
	if len(words) == 3 {
		channel = words[1]
	}
	if !d.host.Plugins.Enabled(channel) {
		return wording.NoChannel(channel), nil
	}
	if len(user) > maxUserID {
		return wording.UserIDTooLong, nil
	}
	name := channel + ":" + string(user)
	switch strings.ToLower(words[0]) {
	case "add":
		if err := d.store.Allow(ctx, channel, user); err != nil {
			return "", err
		}
		d.host.Log.Info("a user was added to the allowlist", "user", name, "by", who(call.Caller))
		return wording.Allowed(name), nil
	case "remove":
		was, err := d.store.Disallow(ctx, channel, user)
		if err != nil {
			return "", err
		}
		d.host.Log.Info("a user was removed from the allowlist", "user", name, "by", who(call.Caller))
		return wording.Disallowed(name, was, slices.Contains(d.host.Conversations.People(channel), name)), nil
	default:
		return wording.UnknownArgument("allowlist", call.Args, wording.AllowlistOptions), nil
	}
}

func (d hostCommands) listPeople(ctx context.Context, call Call) (string, error) {
	allowed, err := d.store.AllowedUsers(ctx)
	if err != nil {
		return "", err
	}
	channel := call.Caller.Address.Channel
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = a.Channel + ":" + string(a.User)
	}
	return wording.Allowlist(channel, d.host.Conversations.People(channel), names), nil
}

// approve allows what claude asks for, or approves a pairing request.
func (d hostCommands) approve(ctx context.Context, call Call) (string, error) {
	if reply, known, err := d.verdict(ctx, call, "once"); known || err != nil {
		return reply, err
	}
	p, said, err := d.pending(ctx, call)
	if err != nil || said != "" {
		return said, err
	}
	_, err = d.store.ApprovePairing(ctx, p.Channel, p.Code, access.Welcome)
	if errors.Is(err, domain.ErrNotFound) {
		return wording.NoPairingWithCode, nil
	}
	if err != nil {
		return "", err
	}
	d.host.Log.Info("a pairing request was approved", "user", p.Channel+":"+string(p.User), "by", who(call.Caller))
	return wording.PairingApproved(person(p)), nil
}

// deny refuses what claude asks for, or rejects a pairing request.
func (d hostCommands) deny(ctx context.Context, call Call) (string, error) {
	if reply, known, err := d.verdict(ctx, call, "no"); known || err != nil {
		return reply, err
	}
	p, said, err := d.pending(ctx, call)
	if err != nil || said != "" {
		return said, err
	}
	_, err = d.store.RejectPairing(ctx, p.Channel, p.Code)
	if errors.Is(err, domain.ErrNotFound) {
		return wording.NoPairingWithCode, nil
	}
	if err != nil {
		return "", err
	}
	d.host.Log.Info("a pairing request was rejected", "user", p.Channel+":"+string(p.User), "by", who(call.Caller))
	return wording.PairingDenied(person(p)), nil
}

// pending finds the pairing request with the code of a command, or explains why it cannot. Without a code it lists the
// requests.
func (d hostCommands) pending(ctx context.Context, call Call) (p domain.Pairing, said string, err error) {
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
		return domain.Pairing{}, wording.NoPairingCode, nil
	}
	requests = slices.DeleteFunc(requests, func(r domain.Pairing) bool { return r.Code != typed || channel != "" && r.Channel != channel })
	switch len(requests) {
	case 0:
		return domain.Pairing{}, wording.NoPairingWithCode, nil
	case 1:
		return requests[0], "", nil
	default:
		return domain.Pairing{}, wording.PairingNeedsChannel(call.Name), nil
	}
}

func requestList(call Call, requests []domain.Pairing) string {
	if call.Caller.Kind != chat.Direct {
		return wording.PairingNeedsCode(call.Name)
	}
	list := make([]wording.Person, len(requests))
	for i, p := range requests {
		list[i] = person(p)
	}
	return wording.Pairings(list)
}

func person(p domain.Pairing) wording.Person {
	return wording.Person{Name: p.Name, ID: p.Channel + ":" + string(p.User), Code: p.Code}
}
