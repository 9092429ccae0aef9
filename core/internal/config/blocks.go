package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// fileBlock is the whole file. The plugin blocks are left to plugin.
func (c *Config) fileBlock(plugin func(*hclsyntax.Block)) block {
	return block{
		attrs: []attr{
			{"state_dir", path(&c.StateDir)},
			{"plugin_dir", path(&c.PluginDir)},
		},
		blocks: append([]child{
			one(c.Log.block()),
			one(block{path: "store"}),
			one(c.Agent.block()),
			one(c.Claude.block()),
			one(c.Outbox.block()),
			{name: "plugin", labelled: true, read: plugin, holds: func(label string) block {
				return (&Plugin{Label: label}).blockOf(nil, c)
			}},
		}, c.Settings.blocks()...),
	}
}

// blocks are those that may also stand in a plugin block.
func (s *Settings) blocks() []child {
	return []child{
		one(s.Session.block()),
		one(s.Inbound.block()),
		one(block{path: "queue"}),
		one(s.Reply.block()),
		one(s.Access.block()),
	}
}

// one is a block without a label that goes by its path's last name.
func one(b block) child {
	_, name := undotted(b.path)
	return child{name: name, holds: func(string) block { return b }}
}

func (l *Log) block() block {
	return block{path: "log", attrs: []attr{
		{"level", oneOf(&l.Level, "debug", "info", "warn", "error")},
		{"format", oneOf(&l.Format, "text", "json")},
	}}
}

func (a *Agent) block() block {
	return block{path: "agent", attrs: []attr{
		{"name", filled(&a.Name)},
		{"workspace", path(&a.Workspace)},
		{"system_prompt", text(&a.SystemPrompt)},
		{"context_files", pathsFrom(&a.ContextFiles, &a.Workspace)}, // after workspace
		{"timezone", timezone(&a.Timezone)},
	}}
}

func (c *Claude) block() block {
	return block{path: "claude", attrs: []attr{
		{"command", command(&c.Command)},
		{"model", word(&c.Model)},
		{"fallback_models", words(&c.FallbackModels)},
		{"effort", oneOf(&c.Effort, "", "low", "medium", "high", "xhigh", "max")},
		{"permission_mode", oneOf(&c.PermissionMode, "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto")},
		{"allowed_tools", texts(&c.AllowedTools)},
		{"disallowed_tools", texts(&c.DisallowedTools)},
		{"args", arguments(&c.Args)},
		{"env", variables(&c.Env, hostVariables)},
		{"timeout", duration(&c.Timeout, time.Millisecond)},
		{"max_processes", whole(&c.MaxProcesses, 1, 256)},
		{"park_after", duration(&c.ParkAfter, time.Millisecond)},
	}}
}

func (o *Outbox) block() block {
	return block{path: "outbox", attrs: []attr{
		{"attempts", whole(&o.Attempts, 1, 1000)},
		{"max_age", duration(&o.MaxAge, 0)},
	}}
}

func (s *Session) block() block {
	return block{path: "session", attrs: []attr{
		{"scope", oneOf(&s.Scope, "main", "per-peer", "per-channel-peer")},
		{"identity_links", identities(&s.IdentityLinks)},
		{"reset_triggers", texts(&s.ResetTriggers)},
	}}
}

func (i *Inbound) block() block {
	return block{path: "inbound", attrs: []attr{
		{"max_age", ageLimit(&i.MaxAge, &i.Drop)},
	}}
}

func (r *Reply) block() block {
	return block{path: "reply", attrs: []attr{
		{"prefix", text(&r.Prefix)},
		{"text_limit", textLimit(&r.TextLimit)},
		{"typing", oneOf(&r.Typing, "never", "thinking")},
		{"typing_interval", duration(&r.TypingInterval, time.Second)},
		{"silent", oneOf(&r.Silent, "never", "groups")},
	}}
}

func (a *Access) block() block {
	return block{
		path: "access",
		attrs: []attr{
			{"owners", people(&a.Owners)},
			{"dm", oneOf(&a.DM, "pairing", "allowlist", "open", "disabled")},
			{"allow", people(&a.Allow)},
			{"commands_from", people(&a.CommandsFrom)},
			{"groups", oneOf(&a.Groups, "allowlist", "open", "disabled")},
			{"require_mention", boolean(&a.RequireMention)},
		},
		blocks: []child{{name: "group", labelled: true, holds: a.groupBlock}},
	}
}

// groupBlock adds a group and returns what its block holds.
func (a *Access) groupBlock(chat string) block {
	g := a.Group[chat]
	put := func() {
		if a.Group == nil {
			a.Group = map[string]Group{}
		}
		a.Group[chat] = g
	}
	put()
	return block{path: "access.group", attrs: []attr{{"require_mention", func(v value) {
		required := true
		boolean(&required)(v)
		g.RequireMention = &required
		put()
	}}}}
}

// pathsFrom takes paths that are relative to a folder, which must have been read before.
func pathsFrom(to *[]string, folder *string) setter {
	return func(v value) {
		elements, _ := v.list()
		paths := []string{}
		for _, e := range elements {
			s, ok := e.filled()
			if !ok {
				continue
			}
			resolved, err := v.d.resolve(*folder, s)
			if err != nil {
				e.refuse("is not a path: %s", err)
				continue
			}
			paths = append(paths, resolved)
		}
		*to = paths
	}
}

func timezone(to **time.Location) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		switch s {
		case "local":
			*to = time.Local
		case "utc":
			*to = time.UTC
		default:
			zone, err := time.LoadLocation(s)
			if err != nil || s == "" || s == "Local" {
				v.refuse(`must be "local", "utc" or an IANA name such as "Europe/Berlin"`)
				return
			}
			*to = zone
		}
	}
}

// command takes a program's name, or its path.
func command(to *string) setter {
	return func(v value) {
		s, ok := v.filled()
		switch {
		case !ok:
		case strings.HasPrefix(s, "~") || strings.Contains(s, "/"):
			path(to)(v)
		default:
			*to = s
		}
	}
}

// word takes text that the CLI cannot take for a flag, or none.
func word(to *string) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		if strings.HasPrefix(s, "-") || strings.ContainsAny(s, ", \t\n") {
			v.refuse("must be one name")
			return
		}
		*to = s
	}
}

func words(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			s := ""
			if _, ok := e.filled(); ok {
				word(&s)(e)
				list = append(list, s)
			}
		}
		*to = list
	}
}

// variables takes an environment. The names in taken are the host's own.
func variables(to *map[string]string, taken []string) setter {
	return func(v value) {
		elements, ok := v.object()
		if !ok {
			return
		}
		env := map[string]string{}
		for _, e := range elements {
			name := e.key()
			switch {
			case !variableName.MatchString(name):
				e.refuse("holds a name that is none of an environment variable")
			case slices.Contains(taken, name):
				e.refuse("cannot hold %s: the host sets it", name)
			default:
				if s, ok := e.text(); ok {
					env[name] = s
				}
			}
		}
		*to = env
	}
}

// ageLimit takes a duration, after which the word drop may stand.
func ageLimit(to *time.Duration, drop *bool) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		span, dropped := strings.CutSuffix(s, " drop")
		d, complaint := parseDuration(span, 0)
		if complaint != "" {
			v.refuse(`%s, or one with the word drop behind it, such as "24h drop"`, complaint)
			return
		}
		*to, *drop = d, dropped
	}
}

// leastTextLimit leaves room for a reopened code fence and some text.
const leastTextLimit = 64

func textLimit(to *int) setter {
	return func(v value) {
		n := 0
		whole(&n, 0, 1<<20)(v)
		if n > 0 && n < leastTextLimit {
			v.refuse("must be 0 or at least %d", leastTextLimit)
			return
		}
		*to = n
	}
}

// refuseChannel reports a channel that does not exist.
func (v value) refuseChannel(channel string) {
	v.d.report(v.at(), "Unknown channel", fmt.Sprintf("%s names %q, and no plugin block has this label.%s",
		v.name, channel, suggestion(channel, v.d.channels)))
}

// person checks a user, written channel:user.
func (v value) person() (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	channel, user, found := strings.Cut(s, ":")
	switch {
	case !found || channel == "" || strings.TrimSpace(user) == "":
		v.refuse(`must name people as "channel:user", such as "telegram:123"`)
	case user == "*":
		v.refuse(`names people one by one; dm and groups have "open" for everybody`)
	case !slices.Contains(v.d.channels, channel):
		v.refuseChannel(channel)
	default:
		return s, true
	}
	return "", false
}

func people(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			if s, ok := e.person(); ok {
				list = append(list, s)
			}
		}
		*to = list
	}
}

// identities takes people with the users that they are.
func identities(to *map[string][]string) setter {
	return func(v value) {
		names, ok := v.object()
		if !ok {
			return
		}
		links, taken := map[string][]string{}, map[string]string{}
		for _, name := range names {
			if !identityName.MatchString(name.key()) {
				name.refuse("holds a name that is not of letters, digits, - and _, up to 64 of them")
				continue
			}
			users, _ := name.list()
			for _, u := range users {
				s, ok := u.person()
				if !ok {
					continue
				}
				if other, twice := taken[s]; twice {
					u.refuse("names %s for %s already", s, other)
					continue
				}
				taken[s] = name.key()
				links[name.key()] = append(links[name.key()], s)
			}
		}
		*to = links
	}
}
