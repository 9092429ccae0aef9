package access_test

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/sdk/chat"
)

var (
	direct    = chat.Chat{ID: "d", Kind: chat.Direct}
	family    = chat.Chat{ID: "-1", Kind: chat.Group}
	club      = chat.Chat{ID: "-2", Kind: chat.Group}
	news      = chat.Chat{ID: "-3", Kind: chat.Broadcast}
	owner     = chat.Sender{ID: "1"}
	ownerByID = chat.Sender{ID: "lid:1", Aliases: []chat.UserID{"", "1"}}
	friend    = chat.Sender{ID: "2"}
	admin     = chat.Sender{ID: "3"}
	paired    = chat.Sender{ID: "4"}
	stranger  = chat.Sender{ID: "9"}

	hi        = chat.Message{Text: "hi"}
	mention   = chat.Message{Text: "hi", MentionsSelf: true}
	yes, no   = true, false
	errBroken = errors.New("broken")
)

// approved knows paired only.
func approved(s chat.Sender) (bool, error) { return s.ID == paired.ID, nil }

func rules(change func(*access.Rules)) access.Rules {
	r := access.Rules{
		Owners:         []string{"tg:1"},
		DM:             access.DMPairing,
		Allow:          []string{"tg:2", "tg:", "tg"},
		Groups:         access.GroupsAllowlist,
		Group:          map[chat.ID]access.Group{family.ID: {}, news.ID: {RequireMention: &no}},
		RequireMention: true,
	}
	if change != nil {
		change(&r)
	}
	return r
}

// Behaviour: access-closed, access-direct-only, access-bots, group-allowlist, group-mention, button, ask-reason.
func TestDecide(t *testing.T) {
	t.Parallel()
	var (
		defaults     = rules(nil)
		dm           = func(p access.DMPolicy) access.Rules { return rules(func(r *access.Rules) { r.DM = p }) }
		groups       = func(p access.GroupPolicy) access.Rules { return rules(func(r *access.Rules) { r.Groups = p }) }
		commandsFrom = rules(func(r *access.Rules) { r.CommandsFrom = []string{"tg:3"}; r.Allow = []string{"tg:2", "tg:3"} })
		everybody    = rules(func(r *access.Rules) {
			r.DM, r.Groups, r.CommandsFrom = access.DMOpen, access.GroupsOpen, []string{"*"}
		})
		inFamily = rules(func(r *access.Rules) {
			r.DM, r.Groups, r.CommandsFrom = access.DMOpen, access.GroupsOpen, []string{"tg:group:" + string(family.ID)}
		})
		always   = rules(func(r *access.Rules) { r.Group[family.ID] = access.Group{RequireMention: &no} })
		open     = rules(func(r *access.Rules) { r.Groups, r.RequireMention = access.GroupsOpen, false })
		patterns = rules(func(r *access.Rules) {
			r.MentionPatterns = []*regexp.Regexp{regexp.MustCompile(`^$`), regexp.MustCompile(`(?i)\bclaw\b`)}
		})
		activation = func(a string) access.Rules { return rules(func(r *access.Rules) { r.Activation = a }) }
		openStrict = rules(func(r *access.Rules) {
			r.Groups, r.RequireMention = access.GroupsOpen, false
			r.Group[club.ID] = access.Group{RequireMention: &yes}
		})
	)
	let := func(a chat.Authority) access.Decision {
		return access.Decision{Action: access.Let, Authority: a, Addressed: true}
	}
	unaddressed := func(a chat.Authority) access.Decision {
		return access.Decision{Action: access.Let, Authority: a}
	}
	record := func(a chat.Authority) access.Decision {
		return access.Decision{Action: access.RecordPassive, Authority: a, Reason: "the message does not mention the agent"}
	}
	ignore := func(reason string) access.Decision { return access.Decision{Reason: reason} }
	pair := access.Decision{Action: access.Pair, Reason: "the sender is a stranger"}
	const (
		isStranger  = "the sender is a stranger"
		notListed   = "the sender is not listed"
		dmOff       = "direct chats are disabled"
		noGroup     = "the group is not listed"
		groupsOff   = "groups are disabled"
		unknownKind = "the kind of chat is not known"
	)
	tests := []struct {
		name   string
		rules  access.Rules
		chat   chat.Chat
		sender chat.Sender
		body   chat.Body
		want   access.Decision
	}{
		{"zero rules, direct", access.Rules{}, direct, owner, hi, ignore(dmOff)},
		{"zero rules, group", access.Rules{}, family, owner, mention, ignore(groupsOff)},

		{"pairing: owner", defaults, direct, owner, hi, let(chat.Owner)},
		{"pairing: owner by an alias", defaults, direct, ownerByID, hi, let(chat.Owner)},
		{"pairing: listed", defaults, direct, friend, hi, let(chat.Authorised)},
		{"pairing: approved", defaults, direct, paired, hi, let(chat.Authorised)},
		{"pairing: stranger's message", defaults, direct, stranger, hi, pair},
		{"pairing: stranger's command", defaults, direct, stranger, chat.NativeCommand{Name: "start"}, pair},
		{"pairing: stranger's reaction", defaults, direct, stranger, chat.Reaction{}, ignore(isStranger)},
		{"pairing: stranger's edit", defaults, direct, stranger, chat.Edited{}, ignore(isStranger)},
		{"pairing: stranger's button", defaults, direct, stranger, chat.ButtonPress{}, ignore(isStranger)},
		{"pairing: nobody", defaults, direct, chat.Sender{}, hi, ignore("the sender has no id")},
		{"pairing: empty alias", defaults, direct, chat.Sender{ID: "9", Aliases: []chat.UserID{""}}, hi, pair},

		{"allowlist: owner", dm(access.DMAllowlist), direct, owner, hi, let(chat.Owner)},
		{"allowlist: listed", dm(access.DMAllowlist), direct, friend, hi, let(chat.Authorised)},
		{"allowlist: approved earlier", dm(access.DMAllowlist), direct, paired, hi, ignore(notListed)},
		{"allowlist: stranger", dm(access.DMAllowlist), direct, stranger, hi, ignore(notListed)},
		{"open: stranger", dm(access.DMOpen), direct, stranger, hi, let(chat.Authorised)},
		{"open: owner", dm(access.DMOpen), direct, owner, hi, let(chat.Owner)},
		{"disabled: owner", dm(access.DMDisabled), direct, owner, hi, let(chat.Owner)},
		{"disabled: listed", dm(access.DMDisabled), direct, friend, hi, ignore(dmOff)},
		{"misspelt policy: listed", dm("opne"), direct, friend, hi, ignore(dmOff)},

		{"commands_from: listed", commandsFrom, direct, admin, hi, let(chat.Authorised)},
		{"commands_from: may chat only", commandsFrom, direct, friend, hi, let(chat.Other)},
		{"commands_from: approved may chat only", commandsFrom, direct, paired, hi, let(chat.Other)},
		{"commands_from: everybody", everybody, direct, stranger, hi, let(chat.Authorised)},
		{"commands_from: everybody in groups", everybody, family, stranger, mention, let(chat.Authorised)},
		{"commands_from: nobody", everybody, family, chat.Sender{}, mention, let(chat.Other)},
		{"commands_from: the group", inFamily, family, stranger, mention, let(chat.Authorised)},
		{"commands_from: the group, owner", inFamily, family, owner, mention, let(chat.Owner)},
		{"commands_from: another group", inFamily, club, stranger, mention, let(chat.Other)},
		{"commands_from: the group, in a direct chat", inFamily, direct, stranger, hi, let(chat.Other)},
		{"commands_from: the group, in a direct chat of the same id", inFamily, chat.Chat{ID: family.ID, Kind: chat.Direct}, stranger, hi, let(chat.Other)},
		{"commands_from: owner", commandsFrom, direct, owner, hi, let(chat.Owner)},
		{"commands_from: lets no one in", rules(func(r *access.Rules) { r.CommandsFrom = []string{"tg:9"} }), direct, stranger, hi, pair},
		{"commands_from: in a group", commandsFrom, family, admin, mention, let(chat.Authorised)},
		{"commands_from: allowed in a group", commandsFrom, family, friend, mention, let(chat.Other)},

		{"group: member", defaults, family, stranger, mention, let(chat.Other)},
		{"group: approved member", defaults, family, paired, mention, let(chat.Other)},
		{"group: listed member", defaults, family, friend, mention, let(chat.Authorised)},
		{"group: owner", defaults, family, owner, mention, let(chat.Owner)},
		{"group: owner by an alias", defaults, family, ownerByID, mention, let(chat.Owner)},
		{"group: member without an id", defaults, family, chat.Sender{}, mention, let(chat.Other)},
		{"group: not mentioned", defaults, family, owner, hi, record(chat.Owner)},
		{"group: command from a menu", defaults, family, stranger, chat.NativeCommand{}, let(chat.Other)},
		{"group: edit", defaults, family, stranger, chat.Edited{}, unaddressed(chat.Other)},
		{"group: without a mention", always, family, stranger, hi, unaddressed(chat.Other)},
		{"group: mentioned where it need not be", always, family, stranger, mention, let(chat.Other)},
		{"group: mentioned by a range", defaults, family, stranger, chat.Message{Text: "@bot hi", Mentions: []chat.Mention{{Length: 4, IsSelf: true}}}, let(chat.Other)},
		{"group: another person is mentioned", defaults, family, stranger, chat.Message{Text: "@anna hi", Mentions: []chat.Mention{{Length: 5}}}, record(chat.Other)},
		{"group: an answer to the agent", defaults, family, stranger, chat.Message{Text: "yes", ReplyTo: &chat.Quote{IsSelf: true}}, let(chat.Other)},
		{"group: an answer to another person", defaults, family, stranger, chat.Message{Text: "yes", ReplyTo: &chat.Quote{}}, record(chat.Other)},
		{"group: a pattern", patterns, family, friend, chat.Message{Text: "well, Claw, what now?"}, let(chat.Authorised)},
		{"group: a pattern in a caption", patterns, family, friend, chat.Message{Text: "CLAW", Media: []chat.Media{{Kind: chat.Image}}}, let(chat.Authorised)},
		{"group: no pattern fits", patterns, family, friend, chat.Message{Text: "clawhost is a word"}, record(chat.Authorised)},
		{"group: a pattern where none is needed", rules(func(r *access.Rules) { r.MentionPatterns, r.RequireMention = patterns.MentionPatterns, false }), family, friend, chat.Message{Text: "claw!"}, let(chat.Authorised)},
		{"group: a pattern lets no one in", rules(func(r *access.Rules) { r.MentionPatterns = patterns.MentionPatterns }), club, owner, chat.Message{Text: "claw!"}, ignore(noGroup)},
		{"group: an owner's command without a mention", defaults, family, owner, chat.Message{Text: "/status"}, record(chat.Owner)},
		{"group: an owner's stop", defaults, family, owner, chat.StopRequest{}, let(chat.Owner)},
		{"group: a press on a button", defaults, family, stranger, chat.ButtonPress{}, let(chat.Other)},
		{"group: a reaction", defaults, family, stranger, chat.Reaction{}, unaddressed(chat.Other)},
		{"activation always", activation("always"), family, owner, chat.Message{Text: "/status"}, unaddressed(chat.Owner)},
		{"activation always, mentioned", activation("always"), family, owner, mention, let(chat.Owner)},
		{"activation always, another group", activation("always"), club, owner, hi, ignore(noGroup)},
		{"activation always, a bot", activation("always"), family, chat.Sender{ID: "1", IsBot: true}, hi, ignore("sent by a bot")},
		{"activation mention where the group needs none", activation("mention"), news, owner, hi, record(chat.Owner)},
		{"activation mention, mentioned", activation("mention"), news, owner, mention, let(chat.Owner)},
		{"activation misspelt", activation("Always"), family, owner, hi, record(chat.Owner)},
		{"activation, in a direct chat", activation("mention"), direct, owner, hi, let(chat.Owner)},
		{"group: other group", defaults, club, owner, mention, ignore(noGroup)},
		{"group: open dm gives no authority", rules(func(r *access.Rules) { r.DM = access.DMOpen }), family, stranger, mention, let(chat.Other)},
		{"broadcast: listed", defaults, news, stranger, hi, unaddressed(chat.Other)},
		{"groups open", open, club, stranger, hi, unaddressed(chat.Other)},
		{"groups open, listed for its settings", openStrict, club, stranger, hi, record(chat.Other)},
		{"groups disabled", groups(access.GroupsDisabled), family, owner, mention, ignore(groupsOff)},
		{"groups misspelt", groups("allow"), family, owner, mention, ignore(groupsOff)},

		{"self", defaults, direct, chat.Sender{ID: "1", IsSelf: true}, hi, ignore("sent by this account itself")},
		{"bot that is an owner", defaults, direct, chat.Sender{ID: "1", IsBot: true}, hi, ignore("sent by a bot")},
		{"bot in a group", always, family, chat.Sender{ID: "1", IsBot: true}, hi, ignore("sent by a bot")},
		{"kind not known", dm(access.DMOpen), chat.Chat{ID: "d"}, owner, mention, ignore(unknownKind)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.rules.Decide("tg", chat.Event{Chat: tt.chat, Sender: tt.sender, Body: tt.body}, approved)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsApplyToOneChannel(t *testing.T) {
	t.Parallel()
	got, err := rules(nil).Decide("wa", chat.Event{Chat: direct, Sender: owner, Body: hi}, approved)
	if err != nil || got.Action != access.Pair {
		t.Errorf("Decide = %+v, %v: tg:1 must not be an owner on wa", got, err)
	}
}

func TestFailedLookupRefuses(t *testing.T) {
	t.Parallel()
	broken := func(chat.Sender) (bool, error) { return true, errBroken }
	got, err := rules(nil).Decide("tg", chat.Event{Chat: direct, Sender: paired, Body: hi}, broken)
	if !errors.Is(err, errBroken) || got.Action != access.Ignore {
		t.Errorf("Decide = %+v, %v; want Ignore and the error", got, err)
	}
	for _, sender := range []chat.Sender{owner, friend} {
		if got, err := rules(nil).Decide("tg", chat.Event{Chat: direct, Sender: sender, Body: hi}, broken); err != nil || got.Action != access.Let {
			t.Errorf("Decide(%s) = %+v, %v; the approvals do not matter here", sender.ID, got, err)
		}
	}
}

// Whatever the rules, a person who is listed nowhere and not approved is let in only where a policy is open or in a
// listed group, and never with more than the authority of its chat.
// Behaviour: access-closed.
func TestStrangersStayOutside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.SampledFrom([]string{"tg:1", "tg:2", "wa:9", "tg:", "9", "*", ":9", "tg:group:-1", "tg:group:", "tg:99", ""}))
		r := access.Rules{
			Owners:         list.Draw(t, "owners"),
			DM:             rapid.SampledFrom([]access.DMPolicy{access.DMPairing, access.DMAllowlist, access.DMOpen, access.DMDisabled, ""}).Draw(t, "dm"),
			Allow:          list.Draw(t, "allow"),
			CommandsFrom:   list.Draw(t, "commands from"),
			Groups:         rapid.SampledFrom([]access.GroupPolicy{access.GroupsAllowlist, access.GroupsOpen, access.GroupsDisabled, ""}).Draw(t, "groups"),
			Group:          map[chat.ID]access.Group{family.ID: {}},
			RequireMention: rapid.Bool().Draw(t, "require mention"),
			Activation:     rapid.SampledFrom([]string{"", access.Always, access.Mention}).Draw(t, "activation"),
		}
		c := rapid.SampledFrom([]chat.Chat{direct, family, club, news}).Draw(t, "chat")
		body := rapid.SampledFrom([]chat.Body{hi, mention, chat.NativeCommand{}, chat.Edited{}}).Draw(t, "body")
		got, err := r.Decide("tg", chat.Event{Chat: c, Sender: stranger, Body: body}, approved)
		if err != nil {
			t.Fatal(err)
		}
		if got.Action != access.Let {
			if got.Reason == "" || got.Addressed {
				t.Fatalf("%+v: not let in needs a reason", got)
			}
			if got.Action != access.RecordPassive {
				if got.Authority != 0 {
					t.Fatalf("%+v: what is not heard has no authority", got)
				}
				return
			}
		}
		wasOpen := r.DM == access.DMOpen
		if c.Kind != chat.Direct {
			wasOpen = r.Groups == access.GroupsOpen || r.Groups == access.GroupsAllowlist && c.ID == family.ID
		}
		if !wasOpen {
			t.Fatalf("%+v although nothing is open", got)
		}
		listed := slices.Contains(r.CommandsFrom, "*") || c.Kind != chat.Direct && slices.Contains(r.CommandsFrom, "tg:group:"+string(c.ID))
		if got.Authority > chat.Other && !listed && (c.Kind != chat.Direct || len(r.CommandsFrom) > 0) || got.Authority == chat.Owner {
			t.Fatalf("authority %v", got.Authority)
		}
	})
}
