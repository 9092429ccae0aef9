package config

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// fileBlock describes the whole file. Read reads the blocks of agents and plugins.
func (c *Config) fileBlock(read func(*hclsyntax.Block)) block {
	return block{
		attrs: []attr{
			{"state_dir", path(&c.StateDir)},
			{"plugin_dir", path(&c.PluginDir)},
			{"reload", oneOf(&c.Reload, Manual, Watch)},
		},
		blocks: append([]child{
			one(c.Log.block()),
			one(c.Database.block()),
			one(c.Host.block()),
			{name: "agent", labelled: true, unlabelled: true, read: read, holds: (&Agent{}).blockOf},
			one(c.claudeBlock()),
			{name: "route", repeated: true, holds: func(string) block { return c.routeBlock() }},
			one(c.Outbox.block()),
			one(c.Delivery.block()),
			one(c.Limits.block()),
			one(c.Retention.block()),
			one(c.Jobs.block()),
			one(c.Approvals.block()),
			{name: "budget", repeated: true, holds: func(string) block { return c.budgetBlock() }},
			one(c.Send.block()),
			one(c.MemoryFlush.block()),
			one(c.Agent.Heartbeat.block()),
			one(c.Media.block()),
			one(c.Links.block()),
			one(c.Commands.block()),
			one(c.Admin.block()),
			one(c.Telemetry.block()),
			{name: "plugin", labelled: true, read: read, holds: func(label string) block {
				return (&Plugin{Label: label}).blockOf(nil, c)
			}},
		}, c.Settings.blocks()...),
	}
}

// blocks are the blocks that a plugin block may also contain.
func (s *Settings) blocks() []child {
	return []child{
		one(s.Session.block()),
		one(s.Inbound.block()),
		one(s.Queue.block()),
		one(s.Reply.block()),
		one(s.Access.block()),
	}
}

// one returns a block without a label, named by the last part of its path.
func one(b block) child {
	_, name := undotted(b.path)
	return child{name: name, holds: func(string) block { return b }}
}

func (l *Log) block() block {
	return block{path: "log", attrs: []attr{
		{"level", oneOf(&l.Level, logLevels...)},
		{"levels", componentLevels(&l.Levels)},
		{"format", oneOf(&l.Format, "text", "json")},
		{"file", path(&l.File)},
		{"max_size", size(&l.MaxSize, 1<<20, 1<<30)},
		{"keep", whole(&l.Keep, 1, 1000)},
	}}
}

var logLevels = []string{"debug", "info", "warn", "error"}

// Components are the components of the host that log, besides the plugins, which log by their labels.
var Components = []string{
	"admin", "claude", "command", "dispatch", "early", "fleet", "gateway", "heartbeat", "hook", "hostapi", "inbox", "jobs", "keys", "media", "metrics", "outbox", "owners", "permission",
	"posting", "project", "prompt", "reaction", "relay", "reload", "systemd", "tools", "trace", "turn", "view", "wakeup", "worktree",
}

// componentLevels stores the levels of components.
func componentLevels(to *map[string]string) setter {
	return func(v value) {
		elements, ok := v.object()
		if !ok {
			return
		}
		levels, known := map[string]string{}, append(slices.Clone(Components), v.d.channels...)
		for _, e := range elements {
			level := ""
			oneOf(&level, logLevels...)(e)
			if name := e.key(); !slices.Contains(known, name) {
				e.refuse("names the component %q, which there is not.%s Plugins have the labels of their blocks; the others are %s", name, suggestion(name, known), strings.Join(Components, ", "))
			}
			levels[e.key()] = level
		}
		*to = levels
	}
}

func (l *Limits) block() block {
	return block{path: "limits", attrs: []attr{{"on_usage_limit", oneOf(&l.OnUsageLimit, "ask", "wait", "fail")}}}
}

func (o *Outbox) block() block {
	return block{path: "outbox", attrs: []attr{
		{"attempts", whole(&o.Attempts, 1, 1000)},
		{"max_age", duration(&o.MaxAge, 0)},
	}}
}

func (d *Delivery) block() block {
	return block{path: "delivery", attrs: []attr{{"mark_repeats", boolean(&d.MarkRepeats)}}}
}

func (s *Session) block() block {
	return block{
		path: "session",
		attrs: []attr{
			{"scope", oneOf(&s.Scope, "main", "per-peer", "per-channel-peer")},
			{"identity_links", identities(&s.IdentityLinks)},
			{"idle_reset", duration(&s.IdleReset, 0)},
			{"daily_reset", clock(&s.DailyReset)},
			{"reset_triggers", texts(&s.ResetTriggers)},
		},
		blocks: []child{{name: "reset", labelled: true, labels: []string{"direct", "group", "thread"}, holds: s.resetBlock}},
	}
}

// resetBlock adds a type of sessions and returns its block.
func (s *Session) resetBlock(kind string) block {
	return block{path: "session.reset", attrs: entry(&s.Reset, kind, func(r *Reset) []attr {
		return []attr{
			{"idle", own(&r.Idle, func(d *time.Duration) setter { return duration(d, 0) })},
			{"daily", own(&r.Daily, clock)},
		}
	})}
}

func (i *Inbound) block() block {
	return block{path: "inbound", attrs: []attr{
		{"debounce", orAuto(&i.Debounce, AutoDebounce, 0)},
		{"max_age", ageLimit(&i.MaxAge, &i.Drop)},
	}}
}

func (q *Queue) block() block {
	return block{path: "queue", attrs: []attr{
		{"mode", oneOf(&q.Mode, domain.Modes()...)},
		{"debounce", duration(&q.Debounce, 0)},
		{"cap", whole(&q.Cap, 1, domain.MaxCap)},
		{"receipt", boolean(&q.Receipt)},
		{"drop", oneOf(&q.Drop, domain.Drops()...)},
	}}
}

func (a *Access) block() block {
	return block{
		path: "access",
		attrs: []attr{
			{"owners", people(&a.Owners)},
			{"dm", oneOf(&a.DM, "pairing", "allowlist", "open", "disabled")},
			{"allow", people(&a.Allow)},
			{"commands_from", commandUsers(&a.CommandsFrom)},
			{"approvers", people(&a.Approvers)},
			{"groups", oneOf(&a.Groups, "allowlist", "open", "disabled")},
			{"require_mention", boolean(&a.RequireMention)},
			{"mention_patterns", patterns(&a.MentionPatterns)},
			{"history_limit", whole(&a.HistoryLimit, 0, maxHistory)},
		},
		blocks: []child{{name: "group", labelled: true, holds: a.groupBlock}},
	}
}

// maxHistory limits a group's history in a prompt, in messages.
const maxHistory = 500

// groupBlock adds a group and returns its block.
func (a *Access) groupBlock(chat string) block {
	return block{path: "access.group", attrs: entry(&a.Group, chat, func(g *Group) []attr {
		return []attr{
			{"require_mention", own(&g.RequireMention, boolean)},
			{"history_limit", own(&g.HistoryLimit, func(n *int) setter { return whole(n, 0, maxHistory) })},
			{"agent", agentName(&g.Agent)},
			{"model", word(&g.Model)},
			{"effort", effort(&g.Effort)},
			{"system_prompt", text(&g.SystemPrompt)},
			{"skills", globs(&g.Skills)},
			{"tools", globs(&g.Tools)},
		}
	})}
}

// pathsFrom stores paths relative to a folder, which must have been read before.
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

// command stores a program's name or path.
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

// word stores text that the CLI cannot mistake for a flag, or none.
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

// aliases stores model names by alias.
func aliases(to *map[string]string) setter {
	return func(v value) {
		elements, ok := v.object()
		if !ok {
			return
		}
		models := map[string]string{}
		for i, e := range elements {
			name, model := e.key(), ""
			same := slices.IndexFunc(elements[:i], func(other value) bool { return strings.EqualFold(other.key(), name) })
			switch {
			case !identityName(name) || strings.HasPrefix(name, "-"):
				e.refuse("contains a name that is not 1 to 64 letters, digits, - and _, or that begins with -")
			case same >= 0:
				e.refuse("contains %s and %s, which differ only in case", elements[same].key(), name)
			default:
				if _, ok := e.filled(); ok {
					word(&model)(e)
				}
				models[name] = model
			}
		}
		*to = models
	}
}

// variables stores an environment. The names in taken are set by the host.
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
			case !variableName(name):
				e.refuse("contains a name that is not valid for an environment variable")
			case slices.Contains(taken, name):
				e.refuse("must not contain %s, because the host sets it", name)
			default:
				if s, ok := e.text(); ok {
					env[name] = s
				}
			}
		}
		*to = env
	}
}

// ageLimit stores a duration, optionally followed by the word drop.
func ageLimit(to *time.Duration, drop *bool) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		span, dropped := strings.CutSuffix(s, " drop")
		d, complaint := parseDuration(span, 0)
		if complaint != "" {
			v.refuse(`%s, optionally followed by the word drop, such as "24h drop"`, complaint)
			return
		}
		*to, *drop = d, dropped
	}
}
