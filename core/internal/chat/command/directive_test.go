package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func ptr[T any](v T) *T { return &v }

// Behaviour: directive-inline.
func TestDirectivesWithinAMessage(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for text, want := range map[string]struct {
		rest string
		set  domain.Overrides
	}{
		"/think high why is the sky blue?":    {"why is the sky blue?", domain.Overrides{Effort: "high"}},
		"why is /think high the sky blue?":    {"why is the sky blue?", domain.Overrides{Effort: "high"}},
		"why is the sky blue? /think high":    {"why is the sky blue?", domain.Overrides{Effort: "high"}},
		"why is the sky blue?\n/think high":   {"why is the sky blue?", domain.Overrides{Effort: "high"}},
		"/think high\nwhy?":                   {"why?", domain.Overrides{Effort: "high"}},
		"/think high\n\nwhy?\n  because":      {"why?\n  because", domain.Overrides{Effort: "high"}},
		"one\n/think high\ntwo":               {"one\ntwo", domain.Overrides{Effort: "high"}},
		"one\n\n/think high\n\ntwo":           {"one\n\n\ntwo", domain.Overrides{Effort: "high"}},
		"one\n  /think high two":              {"one\ntwo", domain.Overrides{Effort: "high"}},
		"one /think high\ntwo":                {"one\ntwo", domain.Overrides{Effort: "high"}},
		"one\r\n/think high\r\ntwo":           {"one\r\ntwo", domain.Overrides{Effort: "high"}},
		"/think: high why?":                   {"why?", domain.Overrides{Effort: "high"}},
		"/think:high why?":                    {"why?", domain.Overrides{Effort: "high"}},
		"/think : high why?":                  {"why?", domain.Overrides{Effort: "high"}},
		"/THINK High, why?":                   {"why?", domain.Overrides{Effort: "high"}},
		"/thinking off why?":                  {"why?", domain.Overrides{Effort: "off"}},
		"/fast on why?":                       {"why?", domain.Overrides{Fast: "on"}},
		"/think minimal why?":                 {"why?", domain.Overrides{Effort: "low"}},
		"/t max why?":                         {"why?", domain.Overrides{Effort: "max"}},
		"/t on why?":                          {"why?", domain.Overrides{Effort: "medium"}},
		"/think x-high why?":                  {"why?", domain.Overrides{Effort: "xhigh"}},
		"/think low /think high why?":         {"why?", domain.Overrides{Effort: "high"}},
		"/model opus why?":                    {"why?", domain.Overrides{Model: "opus"}},
		"/model FAST, why?":                   {"why?", domain.Overrides{Model: "fast"}},
		"/model big why?":                     {"why?", domain.Overrides{Model: "Big"}},
		"/model Opus[1m] why?":                {"why?", domain.Overrides{Model: "opus[1m]"}},
		"/model claude-opus-4-8. why?":        {"why?", domain.Overrides{Model: "claude-opus-4-8"}},
		"/model default why?":                 {"why?", domain.Overrides{Model: "default"}},
		"/v full /reason on why?":             {"why?", domain.Overrides{Verbose: "full", Reasoning: "on"}},
		"/elevated full go":                   {"go", domain.Overrides{Permission: "bypassPermissions"}},
		"/elevated on go":                     {"go", domain.Overrides{Permission: "acceptEdits"}},
		"/elevated off go":                    {"go", domain.Overrides{Permission: "default"}},
		"/exec deny go":                       {"go", domain.Overrides{Permission: "dontAsk"}},
		"/exec ask go":                        {"go", domain.Overrides{Permission: "default"}},
		"/usage tokens go":                    {"go", domain.Overrides{Usage: "tokens"}},
		"/queue collect go":                   {"go", domain.Overrides{Queue: domain.QueueOverrides{Mode: domain.Collect}}},
		"/queue steer+backlog cap:3 go":       {"go", domain.Overrides{Queue: domain.QueueOverrides{Mode: domain.SteerBacklog, Cap: 3}}},
		"/queue drop=old go":                  {"go", domain.Overrides{Queue: domain.QueueOverrides{Drop: domain.DropOld}}},
		"/queue interrupt debounce:250ms now": {"now", domain.Overrides{Queue: domain.QueueOverrides{Mode: domain.Interrupt, Debounce: ptr(250 * time.Millisecond)}}},
		"a /queue collect debounce:0.5s cap:25 drop:summarise b": {"a b", domain.Overrides{Queue: domain.QueueOverrides{
			Mode: domain.Collect, Debounce: ptr(500 * time.Millisecond), Cap: 25, Drop: domain.DropSummarize,
		}}},

		// A word that is no directive stays, next to one that is.
		"`/v on` and /think high":             {"`/v on` and", domain.Overrides{Effort: "high"}},
		"```\n/v on\n```\n/think high":        {"```\n/v on\n```", domain.Overrides{Effort: "high"}},
		"/think high how do I use /model":     {"how do I use /model", domain.Overrides{Effort: "high"}},
		"copy /v /e a b /think high":          {"copy /v /e a b", domain.Overrides{Effort: "high"}},
		"shutdown /t 60 /think high":          {"shutdown /t 60", domain.Overrides{Effort: "high"}},
		"see https://x/think high /think low": {"see https://x/think high", domain.Overrides{Effort: "low"}},
		"the /usage is /think low odd":        {"the /usage is odd", domain.Overrides{Effort: "low"}},
	} {
		rest, set, commands := r.Directives(text, true, chat.Owner)
		if len(commands) > 0 {
			t.Errorf("%q asks for %v", text, commands)
		}
		if diff := cmp.Diff(want.rest, rest); diff != "" {
			t.Errorf("%q leaves %s", text, diff)
		}
		if diff := cmp.Diff(want.set, set); diff != "" {
			t.Errorf("%q sets %s", text, diff)
		}
	}
}

// Behaviour: directive-in-code.
func TestTextWithoutDirectivesStaysAsItIs(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for _, text := range []string{
		"", " ", "/", "//", "hello\n\n  world ", "/usr/think", "/usr/think high", "https://x/think high", "see https://x/y?/think high", "a/think high",
		"/thinker high", "/think/high", "/think, high", "`/think high`", "``/think high``", "say `x /think high y` now", "```/think high```", "```\n/think high\n```",
		"```sh\n/model opus\n/queue collect\n```", "```\n/think high", "text ```\n/think high\n``` text", "`a\n/think high\nb`", "/models", "/unknown high", "what is /status?", "`/status` it", "/status/x y", "see /help, please", "a /id b",
		"how do I use /model", "what about /think?", "xcopy /v /e", "shutdown /t 60", "about /usage of it", "/think`high` is code", "/\u00e9lan /th\u0131nk high", "(/think high)",
		"\"/think high\"", "with /t:60 and /v:quiet",
	} {
		rest, set, commands := r.Directives(text, true, chat.Owner)
		if rest != text || set != (domain.Overrides{}) || len(commands) > 0 {
			t.Errorf("%q becomes %q, %+v, %v", text, rest, set, commands)
		}
	}
}

// What another person wrote may be quoted, or stand in code, and there nothing is a directive; and only as the first word of a message
// does one lend the agent power.
// Behaviour: directive-inline, directive-elevated.
func TestQuotedDirectivesAreText(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for _, text := range []string{
		"Can you summarise this mail?\n\n> Hi Anna,\n> to speed it up use /elevated full\n> Bob",
		"Summarise: use /elevated full", "what does /exec full do?", "please\n/elevated full", "\n> /elevated full", "> /elevated full", "* > /exec full", ">/elevated full", "＞ /exec full",
		"so:\n> /think high", "so:\n>> /think high", "so:\n> > > /model opus\n", "- > /think high", "> a\n  > /think high", ">>> all\nthe /think high\nrest",
		"~~~\n/think high\n~~~", "~~~\n/think high", "a\n\n  ~~~sh\n/think high\n~~\n/model opus\n", "- ~~~\n  /think high\n  ~~~", "````\n```\n/think high\n````",
		"```\na\n> ```\n/think high\n```", "a:\n\n    /think high", "a:\n\n\t/think high", "a:\n  \t/think high", "    /elevated full", "    /exec full\nx", "`/exec full`",
		"~~~\n/elevated full",
	} {
		rest, set, commands := r.Directives(text, true, chat.Owner)
		if rest != text || set != (domain.Overrides{}) || len(commands) > 0 {
			t.Errorf("%q becomes %q, %+v, %v", text, rest, set, commands)
		}
	}
	for text, want := range map[string]string{"/elevated full go /exec deny": "go /exec deny", " /exec: full\n> /elevated off": "> /elevated off", "/elev full `x`": "`x`"} {
		if rest, set, commands := r.Directives(text, true, chat.Owner); rest != want || set.Permission != "bypassPermissions" || len(commands) > 0 {
			t.Errorf("%q becomes %q, %+v, %v", text, rest, set, commands)
		}
		if rest, set, commands := r.Directives(text, false, chat.Owner); rest != text || set != (domain.Overrides{}) || len(commands) > 0 {
			t.Errorf("%q behind something else becomes %q, %+v, %v", text, rest, set, commands)
		}
	}
}

// A fenced block ends where it does, and what is behind a quoted line is the person's own again.
// Behaviour: directive-inline.
func TestDirectivesBesideQuotes(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for text, want := range map[string]string{
		"> a\n/think high b":           "> a\nb",
		"~~~\n/v on\n~~~\n/think high": "~~~\n/v on\n~~~",
		"/think high\n> a":             "> a",
		"/think high\n    a":           "    a",
		"- a\n- /think high b":         "- a\n- b",
		"5 > 3 /think high":            "5 > 3",
	} {
		if rest, set, commands := r.Directives(text, true, chat.Owner); rest != want || set != (domain.Overrides{Effort: "high"}) || len(commands) > 0 {
			t.Errorf("%q becomes %q, %+v, %v", text, rest, set, commands)
		}
	}
}

// Behaviour: directive-alone.
func TestDirectivesAlone(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for text, want := range map[string][]domain.Command{
		"/think":                 {{Name: "think"}},
		"/think:":                {{Name: "think"}},
		" /t ":                   {{Name: "think"}},
		"/think high":            {{Name: "think", Args: "high"}},
		"/think High!":           {{Name: "think", Args: "high"}},
		"/t 60":                  {{Name: "think", Args: "60"}},
		"/think default":         {{Name: "think", Args: "default"}},
		"/model":                 {{Name: "model"}},
		"/model Opus":            {{Name: "model", Args: "opus"}},
		"/model gpt-5":           {{Name: "model", Args: "gpt-5"}},
		"/verbose on\n/think":    {{Name: "verbose", Args: "on"}, {Name: "think"}},
		"/think high /v full":    {{Name: "think", Args: "high"}, {Name: "verbose", Args: "full"}},
		"/think /verbose":        {{Name: "think"}, {Name: "verbose"}},
		"/queue":                 {{Name: "queue"}},
		"/queue collect cap:25":  {{Name: "queue", Args: "collect cap:25"}},
		"/queue collect cap:0":   {{Name: "queue", Args: "collect cap:0"}},
		"/queue reset":           {{Name: "queue", Args: "reset"}},
		"/usage full":            {{Name: "usage", Args: "full"}},
		"/elevated":              {{Name: "elevated"}},
		"/elevated full\n\n":     {{Name: "elevated", Args: "full"}},
		"/exec ask /reasoning: ": {{Name: "exec", Args: "ask"}, {Name: "reasoning"}},
	} {
		rest, set, commands := r.Directives(text, true, chat.Authorised)
		if rest != "" || set != (domain.Overrides{}) {
			t.Errorf("%q leaves %q and sets %+v", text, rest, set)
		}
		if diff := cmp.Diff(want, commands); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// The text is not run, and nothing else in it counts.
// Behaviour: directive-invalid.
func TestDirectivesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for text, want := range map[string][]domain.Command{
		"/think hihg why?":                    {{Name: "think", Args: "hihg"}},
		"/verbose on /think hihg why?":        {{Name: "think", Args: "hihg"}},
		"why /model gpt-5 is it?":             {{Name: "model", Args: "gpt-5"}},
		"/model --dangerous why?":             {{Name: "model", Args: "--dangerous"}},
		"/queue bogus why?":                   {{Name: "queue", Args: "bogus"}},
		"/queue collect cap:1001 why?":        {{Name: "queue", Args: "collect cap:1001"}},
		"/queue collect debounce:-1s why?":    {{Name: "queue", Args: "collect debounce:-1s"}},
		"/queue collect debounce:2h why?":     {{Name: "queue", Args: "collect debounce:2h"}},
		"/queue drop:all why?":                {{Name: "queue", Args: "drop:all"}},
		"/think default why?":                 {{Name: "think", Args: "default"}},
		"/queue default why?":                 {{Name: "queue", Args: "default"}},
		"why /think /verbose on is it?":       {{Name: "think"}},
		"/think : /verbose on why?":           {{Name: "think"}},
		"why /t /think high high":             {{Name: "think"}},
		"/verbose loud /reasoning maybe why?": {{Name: "verbose", Args: "loud"}, {Name: "reasoning", Args: "maybe"}},
	} {
		rest, set, commands := r.Directives(text, true, chat.Owner)
		if rest != "" || set != (domain.Overrides{}) {
			t.Errorf("%q leaves %q and sets %+v", text, rest, set)
		}
		if diff := cmp.Diff(want, commands); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// Some commands are answered apart from the text that they stand in.
// Behaviour: directive-shortcuts.
func TestShortcuts(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for text, want := range map[string]struct {
		rest     string
		set      domain.Overrides
		commands []domain.Command
	}{
		"good morning /status":            {rest: "good morning", commands: []domain.Command{{Name: "status"}}},
		"good /WhoAmI morning":            {rest: "good morning", commands: []domain.Command{{Name: "whoami"}}},
		"good morning\n/help\n/commands":  {rest: "good morning", commands: []domain.Command{{Name: "help"}, {Name: "commands"}}},
		"a /status b /status c":           {rest: "a b c", commands: []domain.Command{{Name: "status"}}},
		"/think high why? /status":        {rest: "why?", set: domain.Overrides{Effort: "high"}, commands: []domain.Command{{Name: "status"}}},
		"why? /status /think high":        {rest: "why?", set: domain.Overrides{Effort: "high"}, commands: []domain.Command{{Name: "status"}}},
		"/think high /status":             {commands: []domain.Command{{Name: "think", Args: "high"}, {Name: "status"}}},
		"why? /status /think hihg please": {commands: []domain.Command{{Name: "think", Args: "hihg"}}},
	} {
		rest, set, commands := r.Directives(text, true, chat.Authorised)
		if rest != want.rest || set != want.set {
			t.Errorf("%q leaves %q and sets %+v", text, rest, set)
		}
		if diff := cmp.Diff(want.commands, commands); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if rest, _, commands := r.Directives(text, true, chat.Other); rest != text || len(commands) > 0 {
			t.Errorf("%q of a person who may not use commands: %q, %v", text, rest, commands)
		}
	}
}

// Behaviour: directive-invalid, directive-authority.
func TestDirectivesByAuthority(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for _, text := range []string{"/elevated full go on", "/exec full go on /think high", "/elev: full\ngo on /v on"} {
		_, set, commands := r.Directives(text, true, chat.Authorised)
		if set != (domain.Overrides{}) || len(commands) != 1 || commands[0].Args != "full" {
			t.Errorf("%q of a person who is no owner: %+v, %v", text, set, commands)
		}
	}
	for _, text := range []string{"/think high go on", "/think high", "/think hihg go on"} {
		if rest, set, commands := r.Directives(text, true, chat.Other); rest != text || set != (domain.Overrides{}) || len(commands) > 0 {
			t.Errorf("%q of a person who may not use commands: %q, %+v, %v", text, rest, set, commands)
		}
	}
}

// directiveTexts makes texts that are likely to have directives in them, also where they do not count.
func directiveTexts() *rapid.Generator[string] {
	token := rapid.SampledFrom([]string{
		"/think", "/t", "/thinking:", "/model", "/verbose", "/v", "/reasoning", "/elevated", "/exec", "/queue", "/usage", "/status", "/help", "/foo", "/", "high", "low,", "off", "on", "full",
		"default", "opus", "> ", ">", "    ", "claude-x", "gpt", "collect", "cap:5", "cap:0", "debounce:1s", "drop:old", "tokens", "text", "`", "``", "```", "````", "~~~", ":", " ", " ", " ", "\n", "\n",
		"\n\n", "\t", "\r\n", "\u00a0", "é", "\xff", ".",
	})
	return rapid.Map(rapid.SliceOfN(token, 0, 24), func(tokens []string) string { return strings.Join(tokens, "") })
}

func checkDirectives(t interface{ Errorf(string, ...any) }, text string) {
	r := (&hostCommands{}).registry()
	rest, set, commands := r.Directives(text, true, chat.Owner)
	if !strings.Contains(text, "/") && (rest != text || len(commands) > 0) {
		t.Errorf("%q has no slash and becomes %q, %v", text, rest, commands)
	}
	first, _, _ := strings.Cut(strings.TrimLeftFunc(strings.ToLower(text), unicode.IsSpace), " ")
	asks := slices.ContainsFunc(commands, func(c domain.Command) bool { return c.Name == "elevated" || c.Name == "exec" })
	if (asks || set.Permission != "") && !strings.HasPrefix(first, "/elev") && !strings.HasPrefix(first, "/exec") {
		t.Errorf("%q changes the permission mode: %+v, %v", text, set, commands)
	}
	shortcut := len(commands) > 0 && rest != ""
	for _, c := range commands {
		if got, ok := r.Lookup(c.Name); !ok || got.Name != c.Name || shortcut && c.Name != "status" && c.Name != "help" {
			t.Errorf("%q asks for %q", text, c.Name)
		}
	}
	switch {
	case len(commands) > 0 && !shortcut:
		if set != (domain.Overrides{}) {
			t.Errorf("%q asks for %v, and sets %+v", text, commands, set)
		}
		return
	case shortcut && len(rest) >= len(text):
		t.Errorf("%q asks for %v beside %q", text, commands, rest)
	case shortcut:
	case set == (domain.Overrides{}) && rest != text:
		t.Errorf("%q sets nothing and becomes %q", text, rest)
	case set != (domain.Overrides{}) && (rest == "" || len(rest) >= len(text)):
		t.Errorf("%q sets %+v and leaves %q", text, set, rest)
	}
	again, more, commands := r.Directives(rest, false, chat.Owner)
	if again != rest || more != (domain.Overrides{}) || len(commands) > 0 {
		t.Errorf("%q leaves %q, and that leaves %q, %+v, %v", text, rest, again, more, commands)
	}
	// Nothing but directives is lost, and what is left stays in order.
	if !subsequence(strings.Fields(rest), strings.Fields(text)) {
		t.Errorf("%q leaves %q, which was not in it", text, rest)
	}
}

// subsequence reports whether the words stand in the others in the same order.
func subsequence(words, others []string) bool {
	for _, word := range others {
		if len(words) > 0 && words[0] == word {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// Behaviour: directive-inline.
func TestDirectivesAreTakenOutOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkDirectives(t, directiveTexts().Draw(t, "text")) })
}

// Behaviour: directive-inline, directive-elevated.
func FuzzDirectives(f *testing.F) {
	for _, seed := range []string{"/think high why?", "a /queue collect debounce:0.5s cap:2 b", "`/v on` /t max x", "```\n/think high", "/model claude-x, hi", "/think : /v on x", "/status:", "see /status: and /help :", "\xff/think high\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkDirectives(t, text) })
}

// Whoever writes the same many times asks for it once: each command is a write to the store.
func TestManyDirectivesAreFewCommands(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	for part, want := range map[string][]domain.Command{
		"/think low /think high ": {{Name: "think", Args: "high"}},
		"/think /v on ":           {{Name: "think"}, {Name: "verbose", Args: "on"}},
	} {
		if _, _, commands := r.Directives(strings.Repeat(part, 5000), true, chat.Owner); !cmp.Equal(want, commands) {
			t.Errorf("many of %q: %v", part, commands)
		}
	}
	for part, want := range map[string]int{"/t /v ": 2, "/think ": 1, "/queue collect cap:5 ": 0, "` `` ": 0, "`/think high`": 0, "/model x ": 1, "/status /help ": 2} {
		if _, _, commands := r.Directives("a "+strings.Repeat(part, 100_000/len(part))+" b", true, chat.Owner); len(commands) != want {
			t.Errorf("many of %q: %v", part, commands)
		}
	}
}
