// Package config reads the host's file, config.hcl: it parses, evaluates and checks the whole of it, and either returns a
// [Config] in which every value is set, or all that is wrong with the file, each finding with its place.
package config

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// Config is a file that was read and found good. All paths in it are absolute.
type Config struct {
	// Path is the file itself.
	Path string
	// StateDir holds the database, media and plugin state. The path of its control socket is below 104 bytes.
	StateDir string
	// PluginDir holds the plugins' binaries. Default: the folder of the running binary.
	PluginDir string

	Log    Log
	Agent  Agent
	Claude Claude
	Outbox Outbox

	Send        Send
	MemoryFlush MemoryFlush
	Heartbeat   Heartbeat

	Media Media
	Links Links

	// Settings holds the blocks as they stand at the top level; [Config.For] has those of a channel.
	Settings

	// Plugins are the plugin blocks in the order of the file, the disabled ones among them.
	Plugins []*Plugin

	warnings Problems
}

// Log says what is logged to stderr, and how.
type Log struct {
	Level  string // debug, info (default), warn, error
	Format string // text (default), json
}

// Agent is what the agent is told about itself.
type Agent struct {
	Name      string // default "Claw"
	Workspace string // claude's working folder, which may not exist yet; default ~/clawhost
	// SystemPrompt is appended to claude's own; it may be empty.
	SystemPrompt string
	ContextFiles []string // files that the agent is shown, those of them that are there; default AGENTS.md of the workspace
	// Timezone is that of the times the agent is told. Default: the machine's.
	Timezone *time.Location
}

// Claude says how the claude CLI is run. No model in it is an alias.
type Claude struct {
	Command         string            // a name found on PATH, or an absolute path; default "claude"
	Model           string            // empty (default): the CLI's own
	FallbackModels  []string          // tried in this order while the model is overloaded
	Aliases         map[string]string // models by the names that people may give them; no two names differ in case only
	Effort          string            // empty (default: the CLI's own), low, medium, high, xhigh, max
	PermissionMode  string            // default (default), acceptEdits, plan, dontAsk, bypassPermissions, auto
	AllowedTools    []string          // rules of tools that run unasked
	DisallowedTools []string          // rules of tools that never run
	ConfigDir       string            // where the CLI keeps its login and transcripts; empty: it is not known
	Args            []string          // passed on to the CLI; none is a flag of the host's own
	APIKeys         []string          // kept in the host, which tries them in this order; none (default): the CLI has its own login
	Env             map[string]string // added to the CLI's environment; beside APIKeys without a credential
	Mode            string            // persistent (default): a process serves a session's turns; oneshot: one turn
	Timeout         time.Duration     // for one turn; default 30 minutes
	Retries         int               // of a turn that the service failed; 0 to 10; default 3
	AskTimeout      time.Duration     // for people to answer what claude asks; default 1 hour
	ToolTimeout     time.Duration     // for one use of a tool of a plugin's or the host's; default 1 minute
	MaxProcesses    int               // default 4
	MaxMemory       int64             // bytes that all processes may have before idle ones are ended; default [HalfOfMemory]; zero: no limit
	RecycleAt       int64             // bytes above which a process is ended once it is idle; default 512 MB; zero: never
	ParkAfter       time.Duration     // idle time after which a process is ended; default 10 minutes
}

// HalfOfMemory is the MaxMemory that is half of what the machine has.
const HalfOfMemory = -1

// Resolve returns the model that a name is an alias of, whatever its case, or else the name itself.
func (c Claude) Resolve(name string) string {
	for alias, model := range c.Aliases {
		if strings.EqualFold(alias, name) {
			return model
		}
	}
	return name
}

// resolveModels puts models in the place of aliases.
func (c *Claude) resolveModels() {
	c.Model = c.Resolve(c.Model)
	for i, name := range c.FallbackModels {
		c.FallbackModels[i] = c.Resolve(name)
	}
}

// Outbox says how long a message is tried.
type Outbox struct {
	Attempts int           // default 8
	MaxAge   time.Duration // default 24 hours; zero: no limit
}

// Settings are the blocks that a plugin block may overrule for its channel.
type Settings struct {
	Session Session
	Inbound Inbound
	Queue   Queue
	Reply   Reply
	Access  Access
}

// Session says which messages share a session, and when one starts anew.
type Session struct {
	Scope string // main, per-peer, per-channel-peer (default)
	// IdentityLinks names people: the users, as channel:user, that are one person each. No user stands in two of them.
	IdentityLinks map[string][]string
	ResetTriggers []string         // texts that start a session anew; default /new and /reset
	IdleReset     time.Duration    // a session starts anew after so long without a message; zero (default): never
	DailyReset    Clock            // a session starts anew at this time; Off (default): never
	Reset         map[string]Reset // other times for the sessions of a type: direct, group, thread
}

// Reset says when the sessions of a type start anew.
type Reset struct {
	Idle  *time.Duration // nil: as in [Session]
	Daily *Clock         // nil: as in [Session]
}

// Inbound says what is done with messages that arrive.
type Inbound struct {
	Debounce time.Duration // messages that follow one another more quickly are one; default 500 ms; zero: none are
	MaxAge   time.Duration // default 24 hours; zero: no limit
	Drop     bool          // older messages are not answered at all, instead of with their age
}

// Queue says what becomes of a message that arrives while its session runs.
type Queue struct {
	Mode     domain.Mode   // default [domain.Steer]
	Debounce time.Duration // how long it must have been quiet before what waits is taken; default 500 ms
	Cap      int           // how many messages may wait, 1 to 1000; default 20
	Drop     domain.Drop   // what is done beyond that; default [domain.DropSummarize]
	Receipt  bool          // a message that waits is said to, where it can be taken back by a button; default true
}

// Access says who may talk to the agent. People are written channel:user.
type Access struct {
	Owners         []string
	DM             string   // pairing (default), allowlist, open, disabled
	Allow          []string // may write in direct chats and groups
	CommandsFrom   []string // may use commands, beside owners; empty: whoever may chat
	Approvers      []string // may answer what claude asks before it uses a tool, beside owners
	Groups         string   // allowlist (default), open, disabled
	Group          map[string]Group
	RequireMention bool // in groups; default true
	// MentionPatterns find other texts that count as a mention, whatever their case.
	MentionPatterns []*regexp.Regexp
	HistoryLimit    int // how many of a group's unanswered messages are kept for the agent, up to 500; default 50; zero: none
}

// Group holds the settings of an allowed group.
type Group struct {
	RequireMention *bool // nil: as in [Access]
	HistoryLimit   *int  // nil: as in [Access]
}

// Socket is the path of the control socket.
func (c *Config) Socket() string { return filepath.Join(c.StateDir, socketName) }

// Own are the files and folders that belong to the host, of which the agent sends nothing. The workspace may be in one of
// them, the folder of the plugins, and holds none.
func (c *Config) Own() []string {
	list := []string{c.StateDir, c.Path, c.PluginDir}
	for _, p := range c.Plugins {
		if p.Enabled {
			list = append(list, p.Source)
		}
	}
	if dir := c.Claude.ConfigDir; dir != "" {
		list = append(list, dir, dir+".json") // the CLI has settings and its account's name there
	}
	return list
}

// For returns the settings of a channel, which is the label of its plugin block: what stands there, else what stands at
// the top level, else the default, attribute by attribute.
func (c *Config) For(channel string) Settings {
	for _, p := range c.Plugins {
		if p.Label == channel && p.Enabled {
			return p.settings
		}
	}
	return c.Settings
}

// Plugin returns the block with this label, or nil.
func (c *Config) Plugin(label string) *Plugin {
	for _, p := range c.Plugins {
		if p.Label == label {
			return p
		}
	}
	return nil
}

// defaults returns what holds where the file says nothing. Paths are yet to be expanded.
func defaults() *Config {
	return &Config{
		StateDir: "~/.local/state/clawhost",
		Log:      Log{Level: "info", Format: "text"},
		Agent:    Agent{Name: "Claw", Workspace: "~/clawhost", Timezone: time.Local},
		Claude: Claude{
			Command:        "claude",
			PermissionMode: "default",
			Mode:           "persistent",
			Timeout:        30 * time.Minute,
			Retries:        3,
			AskTimeout:     time.Hour,
			ToolTimeout:    time.Minute,
			MaxProcesses:   4,
			MaxMemory:      HalfOfMemory,
			RecycleAt:      512 << 20,
			ParkAfter:      10 * time.Minute,
		},
		Outbox: Outbox{Attempts: 8, MaxAge: 24 * time.Hour},
		Settings: Settings{
			Session: Session{Scope: "per-channel-peer", ResetTriggers: []string{"/new", "/reset"}, DailyReset: Off},
			Inbound: Inbound{Debounce: 500 * time.Millisecond, MaxAge: 24 * time.Hour},
			Queue:   Queue{Mode: domain.Steer, Debounce: 500 * time.Millisecond, Cap: 20, Drop: domain.DropSummarize, Receipt: true},
			Reply: Reply{
				ChunkMode: "length", Stream: "preview",
				Block:  Block{Min: 800, Max: 1200, Idle: time.Second, BreakOn: "paragraph", FlushAt: "text_end"},
				Typing: "thinking", TypingInterval: 6 * time.Second, ReplyTo: "off", Silent: "groups",
				Verbose: "off", Reasoning: "off", Usage: "off",
			},
			Access: Access{DM: "pairing", Groups: "allowlist", RequireMention: true, HistoryLimit: 50},
		},
		Media:       Media{MaxBytes: 20 << 20, Timeout: time.Minute, TTS: "off"},
		Links:       Links{Timeout: 20 * time.Second},
		Send:        Send{Default: "allow"},
		MemoryFlush: MemoryFlush{Enabled: true, Margin: 4000, Prompt: flushPrompt},
		Heartbeat:   Heartbeat{From: 8 * 60, To: 22 * 60, Target: "owner", Prompt: heartbeatPrompt},
	}
}

// clone returns settings that can be decoded into without changing s. Lists are replaced whole and need no copy.
func (s Settings) clone() Settings {
	s.Session.Reset = maps.Clone(s.Session.Reset)
	s.Access.Group = maps.Clone(s.Access.Group)
	return s
}
