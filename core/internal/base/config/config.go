// Package config reads the host's file, config.hcl: it parses, evaluates and checks the whole file, and returns either a
// complete [Config], or all errors in the file with their positions.
package config

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Config is a valid file. All paths in it are absolute.
type Config struct {
	// Path is the file itself.
	Path string
	// StateDir contains the database, media and plugin state. The path of its control socket is shorter than 104 bytes.
	StateDir string
	// PluginDir contains the plugins' binaries. Default: the folder of the running binary.
	PluginDir string

	Log    Log
	Agent  Agent
	Claude Claude
	Outbox Outbox
	Limits Limits

	Budgets []Budget // in the order of the file

	Send        Send
	MemoryFlush MemoryFlush
	Heartbeat   Heartbeat

	Media    Media
	Links    Links
	Commands Commands
	Admin    Admin

	// Settings are the top-level blocks; [Config.For] returns those of a channel.
	Settings

	// Plugins are the plugin blocks in the order of the file, including disabled ones.
	Plugins []*Plugin

	warnings Problems
}

// Log configures the log on stderr.
type Log struct {
	Level  string // debug, info (default), warn, error
	Format string // text (default), json
}

// Agent describes the agent to itself.
type Agent struct {
	Name      string // default "Claw"
	Workspace string // claude's working folder, which may not exist yet; default ~/clawhost
	// SystemPrompt is appended to claude's own; it may be empty.
	SystemPrompt string
	ContextFiles []string // files shown to the agent if they exist; default AGENTS.md of the workspace
	// Timezone is the time zone of times shown to the agent. Default: the machine's.
	Timezone *time.Location
	// Project lists the parts of the workspace's own setup for Claude Code that are used: instructions, skills, agents, mcp.
	Project      []string
	TrustProject bool // Claude Code uses the setup as it is, with its hooks, settings and environment
}

// Claude configures the claude CLI. Model names are resolved, not aliases.
type Claude struct {
	Command         string            // a name found on PATH, or an absolute path; default "claude"
	Model           string            // empty (default): the CLI's own
	FallbackModels  []string          // tried in this order while the model cannot answer
	Aliases         map[string]string // models by alias; no two aliases differ in case only
	Effort          string            // empty (default: the CLI's own), off, low, medium, high, xhigh, max
	Fast            bool              // the model answers faster, at a higher price, if it can; default false
	PermissionMode  string            // default (default), acceptEdits, plan, dontAsk, bypassPermissions, auto
	AllowedTools    []string          // rules of tools that run without approval
	DisallowedTools []string          // rules of tools that never run
	ConfigDir       string            // the CLI's folder of its login and transcripts; empty: unknown
	Args            []string          // passed to the CLI; contains no flags of the host
	APIKeys         []string          // kept by the host and tried in this order; none (default): the CLI's own login
	Env             map[string]string // added to the CLI's environment; without credentials if APIKeys is set
	MCP             map[string]MCP    // MCP servers by name
	Mode            string            // persistent (default): a process serves a session's turns; oneshot: one turn
	Timeout         time.Duration     // for one turn; default 30 minutes
	Retries         int               // after errors of the service; 0 to 10; default 3
	AskTimeout      time.Duration     // for answers to questions and approvals; default 1 hour
	ToolTimeout     time.Duration     // for one call of a plugin's or host's tool; default 1 minute
	MaxProcesses    int               // default 4
	MaxMemory       int64             // total bytes above which idle processes are ended; default [HalfOfMemory]; zero: no limit
	RecycleAt       int64             // bytes above which a process is ended once it is idle; default 512 MB; zero: never
	ContextBudget   int               // tokens that count as the model's window when Claude Code compacts; default 0: the model's own
	ParkAfter       time.Duration     // idle time after which a process is ended; default 10 minutes
}

// HalfOfMemory as MaxMemory means half of the machine's memory.
const HalfOfMemory = -1

// Resolve returns the model for an alias, ignoring case, or the name itself if it is not an alias.
func (c Claude) Resolve(name string) string {
	for alias, model := range c.Aliases {
		if strings.EqualFold(alias, name) {
			return model
		}
	}
	return name
}

// resolveModels replaces aliases by models.
func (c *Claude) resolveModels() {
	c.Model = c.Resolve(c.Model)
	for i, name := range c.FallbackModels {
		c.FallbackModels[i] = c.Resolve(name)
	}
}

// Limits says what happens at the limits of the account.
type Limits struct {
	OnUsageLimit string // of a turn at a usage limit: ask (default), wait, fail
}

// Outbox limits the delivery attempts of a message.
type Outbox struct {
	Attempts int           // default 8
	MaxAge   time.Duration // default 24 hours; zero: no limit
}

// Settings are the blocks that a plugin block may override for its channel.
type Settings struct {
	Session Session
	Inbound Inbound
	Queue   Queue
	Reply   Reply
	Access  Access
}

// Session configures which messages share a session, and when a session is reset.
type Session struct {
	Scope string // main, per-peer, per-channel-peer (default)
	// IdentityLinks maps a person's name to their users, as channel:user. No user belongs to two people.
	IdentityLinks map[string][]string
	ResetTriggers []string         // texts that reset a session; default /new and /reset
	IdleReset     time.Duration    // reset a session after this time without a message; zero (default): never
	DailyReset    Clock            // reset sessions at this time; Off (default): never
	Reset         map[string]Reset // by type of session: direct, group, thread
}

// Reset configures when the sessions of a type are reset.
type Reset struct {
	Idle  *time.Duration // nil: as in [Session]
	Daily *Clock         // nil: as in [Session]
}

// Inbound configures arriving messages.
type Inbound struct {
	Debounce time.Duration // messages in quicker succession are joined; default 500 ms; zero: never
	MaxAge   time.Duration // default 24 hours; zero: no limit
	Drop     bool          // drop older messages instead of mentioning their age
}

// Queue configures messages that arrive while their session's turn runs.
type Queue struct {
	Mode     domain.Mode   // default [domain.Steer]
	Debounce time.Duration // quiet time before waiting messages are claimed; default 500 ms
	Cap      int           // how many messages may wait, 1 to 1000; default 20
	Drop     domain.Drop   // which message is dropped beyond that; default [domain.DropSummarize]
	Receipt  bool          // show that a message waits, with a button to withdraw it; default true
}

// Access configures who may talk to the agent. People are written channel:user.
type Access struct {
	Owners         []string
	DM             string   // pairing (default), allowlist, open, disabled
	Allow          []string // may write in direct chats and groups
	CommandsFrom   []string // may use commands, besides owners: people, "*", or groups as channel:group:id; empty: everybody who may chat
	Approvers      []string // may approve tool use, besides owners
	Groups         string   // allowlist (default), open, disabled
	Group          map[string]Group
	RequireMention bool // in groups; default true
	// MentionPatterns match other texts that count as a mention, ignoring case.
	MentionPatterns []*regexp.Regexp
	HistoryLimit    int // unanswered messages of a group that are kept for the agent, up to 500; default 50; zero: none
}

// Group has the settings of an allowed group.
type Group struct {
	RequireMention *bool // nil: as in [Access]
	HistoryLimit   *int  // nil: as in [Access]
}

// Socket is the path of the control socket.
func (c *Config) Socket() string { return filepath.Join(c.StateDir, socketName) }

// Own returns the host's files and folders, from which the agent may not send files. The workspace may be within the plugin
// folder, but contains none of them.
func (c *Config) Own() []string {
	list := []string{c.StateDir, c.Path, c.PluginDir}
	for _, p := range c.Plugins {
		if p.Enabled {
			list = append(list, p.Source)
		}
	}
	if dir := c.Claude.ConfigDir; dir != "" {
		list = append(list, dir, dir+".json") // the CLI's settings and account name
	}
	return list
}

// For returns the settings of a channel, which is the label of its plugin block. For each attribute the block's value takes
// precedence over the top level's, and that over the default.
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

// defaults returns the default values. Paths are not yet expanded.
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
		Limits: Limits{OnUsageLimit: "ask"},
		Settings: Settings{
			Session: Session{Scope: "per-channel-peer", ResetTriggers: []string{"/new", "/reset"}, DailyReset: Off},
			Inbound: Inbound{Debounce: 500 * time.Millisecond, MaxAge: 24 * time.Hour},
			Queue:   Queue{Mode: domain.Steer, Debounce: 500 * time.Millisecond, Cap: 20, Drop: domain.DropSummarize, Receipt: true},
			Reply: Reply{
				ChunkMode: "length", Stream: "preview",
				Block:  Block{Min: 800, Max: 1200, Idle: time.Second, BreakOn: "paragraph", FlushAt: "text_end"},
				Typing: "thinking", TypingInterval: 6 * time.Second, ReplyTo: "off", NotifyAfter: 30 * time.Second,
				Silent: "groups", Visible: "answer", BetweenTools: "drop",
				Verbose: "off", Reasoning: "off", Usage: "off",
			},
			Access: Access{DM: "pairing", Groups: "allowlist", RequireMention: true, HistoryLimit: 50},
		},
		Media:       Media{MaxBytes: 20 << 20, Timeout: time.Minute, FindTranscriber: true, InlineImages: true, TTS: "off"},
		Links:       Links{Fetch: true, Timeout: 20 * time.Second},
		Send:        Send{Default: "allow"},
		MemoryFlush: MemoryFlush{Enabled: true, Margin: 4000, Reserve: 33_000, Prompt: flushPrompt},
		Heartbeat:   Heartbeat{From: 8 * 60, To: 22 * 60, Target: "owner", Prompt: HeartbeatPrompt},
	}
}

// clone returns a copy of settings that can be decoded into without changing s. Lists are replaced as a whole and need no
// copy.
func (s Settings) clone() Settings {
	s.Session.Reset = maps.Clone(s.Session.Reset)
	s.Access.Group = maps.Clone(s.Access.Group)
	s.Reply.Chat = maps.Clone(s.Reply.Chat)
	return s
}
