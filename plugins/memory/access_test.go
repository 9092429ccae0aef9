package main

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

// What was said in one session must not be read in another one, but for the rules of [access].
// Behaviour: memory-recall.
func TestWhoIsRemindedOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	// Each of them has said a word that no one else knows.
	said := map[string]chat.Caller{
		"anna's":          direct("anna", chat.Owner),
		"anna's other":    direct("anna2", chat.Owner),
		"owner ben's":     direct("ben", chat.Owner),
		"stranger cleo":   direct("cleo", chat.Other),
		"group one":       group("1", "cleo", chat.Other),
		"group two":       group("2", "anna", chat.Owner),
		"thread of one":   {Session: "c:group:1:thread:5", Address: chat.Address{Channel: "c", Chat: "1", Thread: "5"}, Kind: chat.Group, Sender: chat.Sender{ID: "cleo"}, Authority: chat.Other},
		"nobody's as yet": {Session: "c:dora"},
	}
	words := map[string]string{
		"anna's": "aardvark", "anna's other": "buffalo", "owner ben's": "crocodile", "stranger cleo": "dromedary",
		"group one": "elephant", "group two": "flamingo", "thread of one": "giraffe", "nobody's as yet": "hippopotamus",
	}
	for name, test := range map[string]struct {
		config map[string]any
		want   map[string][]string // who is reminded of what whom said
	}{
		"closed": {want: map[string][]string{
			"anna's": {"anna's"}, "anna's other": {"anna's other"}, "owner ben's": {"owner ben's"},
		}},
		"two chats of one person": {
			config: map[string]any{"same_person": []string{"c:anna", "c:anna2"}},
			want: map[string][]string{
				"anna's": {"anna's", "anna's other"}, "anna's other": {"anna's", "anna's other"}, "owner ben's": {"owner ben's"},
			},
		},
		"open to all": {
			config: map[string]any{"open_to": []string{"all"}},
			want: map[string][]string{
				"anna's": {"anna's"}, "anna's other": {"anna's other"}, "owner ben's": {"owner ben's"}, "stranger cleo": {"stranger cleo"},
				"group one": {"group one"}, "group two": {"group two"}, "thread of one": {"thread of one"},
			},
		},
		"open to one group": {
			config: map[string]any{"open_to": []string{"c:group:1"}},
			want: map[string][]string{
				"anna's": {"anna's"}, "anna's other": {"anna's other"}, "owner ben's": {"owner ben's"},
				"group one": {"group one"}, "thread of one": {"thread of one"},
			},
		},
		"conversations are not kept": {config: map[string]any{"sessions": false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, test.config)
			for who, c := range said {
				if c.Sender.ID != "" {
					p.ask(c, "a first turn tells whose chat it is")
				}
				p.tell(c.Session, 1, "remember the "+words[who], "I will")
			}
			for who, c := range said {
				if c.Sender.ID == "" {
					continue
				}
				for whose, word := range words {
					got := strings.Contains(p.ask(c, "what about the "+word+"?"), word)
					want := false
					for _, w := range test.want[who] {
						want = want || w == whose
					}
					if got != want {
						t.Errorf("%s is reminded of what %s said: %v, want %v", who, whose, got, want)
					}
				}
			}
		})
	}
}

// Under one session for all direct chats, what an owner is shown could be read by the others who share it.
func TestASessionThatOthersShare(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"same_person": []string{"c:anna", "c:anna2"}})
	p.write("MEMORY.md", "The zebra is called Zora.\n")
	in := func(session string, c chat.Caller) chat.Caller { c.Session = session; return c }
	recalls := func(c chat.Caller, word string) bool { return strings.Contains(p.ask(c, "the "+word), word) }

	alone := in("main", anna)
	if !recalls(alone, "zebra") {
		t.Error("an owner alone in it gets nothing")
	}
	p.tell("main", 1, "the aardvark is ill", "oh")
	if !recalls(direct("anna2", chat.Owner), "aardvark") {
		t.Error("the same person is not reminded in the other chat")
	}
	// Another owner joins: both can recall the files and what they said there, and it is no longer one person's chat.
	if c := in("main", direct("ben", chat.Owner)); !recalls(c, "zebra") || !recalls(c, "aardvark") {
		t.Error("another owner gets nothing")
	}
	if recalls(direct("anna2", chat.Owner), "aardvark") {
		t.Error("what several owners share is recalled in the chat of one of them")
	}
	p.tell("c:anna2", 1, "the buffalo is well", "fine")
	if recalls(alone, "buffalo") {
		t.Error("what one owner said is recalled where several read it")
	}
	// A stranger joins: no one gets a notice.
	if recalls(in("main", direct("cleo", chat.Other)), "zebra") {
		t.Error("a stranger gets the prompt about the files")
	}
	if recalls(alone, "zebra") {
		t.Error("an owner gets the prompt about the files where a stranger can ask for them")
	}
	p.restart(map[string]any{"same_person": []string{"c:anna", "c:anna2"}})
	if recalls(alone, "zebra") || recalls(direct("anna2", chat.Owner), "aardvark") {
		t.Error("who shares a session is forgotten over a restart")
	}
}

// Who was let in first and became an owner later counts as one, and a former owner does not.
func TestAnOwnerWhoWasNoneBefore(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "The zebra is called Zora.\n")
	for i, authority := range []chat.Authority{chat.Other, chat.Owner, chat.Authorised, chat.Owner} {
		got := strings.Contains(p.ask(direct("anna", authority), "the zebra"), "Zora")
		if want := authority == chat.Owner; got != want {
			t.Errorf("turn %d is reminded: %v, want %v", i, got, want)
		}
	}
}

// The config may say later who is one person, and take it back.
func TestOnePersonByALaterConfig(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	other := direct("anna2", chat.Owner)
	p.ask(anna, "a first turn")
	p.ask(other, "a first turn")
	p.tell(anna.Session, 1, "the aardvark is ill", "oh")
	for i, same := range [][]string{nil, {"c:anna", "c:anna2"}, {"c:anna", "c:anna3"}} {
		p.restart(map[string]any{"same_person": append([]string{}, same...)})
		got := strings.Contains(p.ask(other, "the aardvark"), "ill")
		if want := i == 1; got != want {
			t.Errorf("config %d: reminded: %v, want %v", i, got, want)
		}
		if !strings.Contains(p.ask(anna, "the aardvark"), "ill") {
			t.Errorf("config %d: who said it is not reminded", i)
		}
	}
}

// A turn that no person began has an owner's authority wherever it runs. It counts whose chat it runs in.
func TestTurnsThatNoPersonBegan(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	p.write("MEMORY.md", "The zebra is called Zora.\n")
	without := func(c chat.Caller) chat.Caller { c.Sender, c.Authority = chat.Sender{}, chat.Owner; return c }
	plugins := func(c chat.Caller) chat.Caller {
		c.Sender, c.Authority = chat.Sender{ID: chat.UserID(c.Address.Chat), IsBot: true}, chat.Owner
		return c
	}
	ben := direct("ben", chat.Other)
	for i, test := range []struct {
		caller chat.Caller
		want   bool
	}{
		{without(anna), false}, // it is not known yet that it is an owner's
		{plugins(anna), false},
		{anna, true},
		{without(anna), true},
		{plugins(anna), true},
		{anna, true},
		{plugins(ben), false},
		{ben, false},
		{plugins(ben), false},
		{plugins(group("g", "anna", chat.Owner)), false},
	} {
		if got := strings.Contains(p.ask(test.caller, "the zebra"), "Zora"); got != test.want {
			t.Errorf("turn %d is reminded: %v, want %v", i, got, test.want)
		}
	}
}

func TestOpenTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		prefix, session string
		want            bool
	}{
		{"all", "telegram:1", true},
		{"telegram", "telegram:1", true},
		{"telegram", "telegram2:1", false},
		{"telegram:", "telegram:1", true},
		{"telegram:1", "telegram:1", true},
		{"telegram:1", "telegram:12", false},
		{"telegram:group:-100", "telegram:group:-100:thread:7", true},
		{"telegram:group:-100", "telegram:group:-1001", false},
		{"main", "main", true},
		{"main", "allmain", false},
	} {
		a := &access{openTo: []string{test.prefix}}
		if got := a.isOpen(test.session); got != test.want {
			t.Errorf("%q opens %q: %v", test.prefix, test.session, got)
		}
	}
}

// Where it is opened to others, secrets in the owner's notes are not shown.
// Behaviour: memory-secrets.
func TestSecretsInFilesAreForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"open_to": []string{"all"}})
	p.write("MEMORY.md", "The zebra's door: password: xK9#mQ2$vL7p\n")
	if got := p.ask(anna, "zebra door"); !strings.Contains(got, "xK9#mQ2$vL7p") {
		t.Errorf("the owner gets %q", got)
	}
	got := p.ask(group("g", "ben", chat.Other), "zebra door")
	if strings.Contains(got, "xK9#m") || !strings.Contains(got, "zebra's door: password: "+removed) {
		t.Errorf("a group gets %q", got)
	}
}
