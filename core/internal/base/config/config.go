// Package config reads the host's file, config.hcl: it parses, evaluates and checks the whole file, and returns either a
// complete [Config], or all errors in the file with their positions.
package config

import (
	"maps"
	"path/filepath"
	"regexp"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
)

// Config is a valid file. All paths in it are absolute.
type Config struct {
	// Path is the file itself.
	Path string
	// StateDir contains the database, media and plugin state. The path of its control socket is shorter than 104 bytes.
	StateDir string
	// PluginDir contains the plugins' binaries. Default: the folder of the running binary.
	PluginDir string

	// Reload is when the file is read again: manual (default), when somebody asks for it; watch, also when it changes.
	Reload string

	Log      Log
	Database Database // the block store
	Host     Host
	// Agent is the agent main: the blocks agent, claude and heartbeat of the top level. Agents are the others, in the order of
	// the file.
	Agent     Agent
	Agents    []*Agent
	Routes    []Route // in the order of the file
	Processes Processes
	Outbox    Outbox
	Delivery  Delivery
	Limits    Limits
	Retention Retention
	Jobs      Jobs
	Approvals Approvals

	Budgets []Budget // in the order of the file

	Send        Send
	MemoryFlush MemoryFlush

	Media     Media
	Links     Links
	Commands  Commands
	Admin     Admin
	Telemetry Telemetry

	// Settings are the top-level blocks; [Config.For] returns those of a channel.
	Settings

	// Plugins are the plugin blocks in the order of the file, including disabled ones.
	Plugins []*Plugin

	readAt   time.Time
	warnings Problems
	written  []Written
	set      []Override // as LoadWith got them
	source   *source
	body     *hclsyntax.Body
}

// Log configures the log, which goes to stderr and may also go to a file.
type Log struct {
	Level   string            // debug, info (default), warn, error
	Levels  map[string]string // the levels of single components
	Format  string            // text (default), json
	File    string            // an absolute path; empty (default): there is none
	MaxSize int64             // of a file, in bytes, from 1 MB; default 10 MB
	Keep    int               // full files that stay, at least 1; default 5
}

// The values of Reload.
const (
	Manual = "manual"
	Watch  = "watch"
)

// Limits says what happens at the limits of the account.
type Limits struct {
	OnUsageLimit string // of a turn at a usage limit: ask (default), wait, fail
}

// Outbox limits the delivery attempts of a message.
type Outbox struct {
	Attempts int           // default 8
	MaxAge   time.Duration // default 24 hours; zero: no limit
}

// Delivery says what people see of the delivery itself.
type Delivery struct {
	// MarkRepeats has a message that is sent again although it may have arrived say so; default true.
	MarkRepeats bool
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

// AutoDebounce leaves it to the host how long each message waits for more.
const AutoDebounce time.Duration = -1

// Inbound configures arriving messages.
type Inbound struct {
	Debounce time.Duration // messages in quicker succession are joined; default [AutoDebounce]; zero: never
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

	// The rest applies to the group and its threads, and takes precedence over the agent's. An empty field leaves it unchanged.
	Agent        string   // the agent's label; a [Route] takes precedence
	Model        string   // resolved, not an alias
	Effort       string   // as in [Claude]
	SystemPrompt string   // in addition to the agent's
	Skills       Patterns // of the agent's skills that are used
	Tools        Patterns // of the tools that may be used
}

// ReadAt is when the file was read.
func (c *Config) ReadAt() time.Time { return c.readAt }

// Socket is the path of the control socket.
func (c *Config) Socket() string { return filepath.Join(c.StateDir, socketName) }

// Own returns the host's files and folders, from which the agent may not send files. The workspace may be within the plugin
// folder, but contains none of them.
func (c *Config) Own() []string {
	list := []string{c.StateDir, c.Path, VariablesPath(c.Path), c.PluginDir}
	if c.Log.File != "" {
		list = append(list, c.Log.File)
	}
	for _, p := range c.Plugins {
		if p.Enabled {
			list = append(list, p.Source)
		}
	}
	for _, a := range c.AllAgents() {
		if dir := a.Claude.ConfigDir; dir != "" {
			list = append(list, dir, dir+".json") // the CLI's settings and account name
		}
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
		StateDir: "~/.local/state/clawhost", Reload: Manual,
		Log: Log{Level: "info", Format: "text", MaxSize: 10 << 20, Keep: 5}, Database: Database{Driver: SQLite, Lease: 15 * time.Second},
		Agent: Agent{
			Label: session.MainAgent, Name: "Claw", Workspace: "~/clawhost", Timezone: time.Local, OpenTo: OpenToOwners, Worktree: WorktreeOff, Skills: PatternsOf("*"),
			Claude: Claude{
				Command: "claude", PermissionMode: "default", Timeout: 30 * time.Minute, Retries: 3, AskTimeout: time.Hour, ToolTimeout: time.Minute,
			},
			Heartbeat: defaultHeartbeat,
		},
		Processes: Processes{Mode: "persistent", Max: 4, MaxMemory: HalfOfMemory, RecycleAt: 512 << 20, Spare: AutoSpare},
		Outbox:    Outbox{Attempts: 8, MaxAge: 24 * time.Hour},
		Delivery:  Delivery{MarkRepeats: true},
		Limits:    Limits{OnUsageLimit: "ask"},
		Telemetry: Telemetry{Sample: 0.1},
		Retention: Retention{Media: 30 * day},
		Jobs:      Jobs{MaxRunning: 4, MaxOutput: 64 << 20},
		Approvals: Approvals{EscalateAfter: 2 * time.Minute},
		Settings: Settings{
			Session: Session{Scope: "per-channel-peer", ResetTriggers: []string{"/new", "/reset"}, DailyReset: Off},
			Inbound: Inbound{Debounce: AutoDebounce, MaxAge: 24 * time.Hour},
			Queue:   Queue{Mode: domain.Steer, Debounce: 500 * time.Millisecond, Cap: 20, Drop: domain.DropSummarize, Receipt: true},
			Reply: Reply{
				ChunkMode: "length", Stream: "preview",
				Block:  Block{Min: 800, Max: 1200, Idle: time.Second, BreakOn: "paragraph", FlushAt: "text_end"},
				Typing: "thinking", TypingInterval: 6 * time.Second, ReplyTo: "off", NotifyAfter: 30 * time.Second,
				Silent: "groups", Visible: "answer", BetweenTools: "drop",
				Verbose: "off", Reasoning: "off", Usage: "off", Changes: "on",
			},
			Access: Access{DM: "pairing", Groups: "allowlist", RequireMention: true, HistoryLimit: 50},
		},
		Media:       Media{MaxBytes: 20 << 20, Timeout: time.Minute, FindTranscriber: true, InlineImages: true, TTS: "off"},
		Links:       Links{Fetch: true, Timeout: 20 * time.Second},
		Send:        Send{Default: "allow"},
		MemoryFlush: MemoryFlush{Enabled: true, Margin: 4000, Reserve: 33_000, Prompt: flushPrompt},
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
