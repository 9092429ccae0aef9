package command

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/recentlog"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/chat/spending"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/claude/project"
	"github.com/clawhost/clawhost/core/internal/claude/sessions"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Agents are the agents that answer, by their labels.
type Agents interface {
	// Sections returns the parts of the session's system prompt.
	Sections(caller chat.Caller, session domain.Session) []agent.Section
	// SkillList returns the current skills of an agent; none of an unknown one.
	SkillList(agent string) []agent.Skill
}

// Claude are the claude processes.
type Claude interface {
	Stats() claude.Stats
	Installation() claude.Installation
	Inventory(agent string) claude.Inventory
	// Aside answers a side question, from the conversation so far. The error is [client.ErrNotRunning] if no
	// turn runs, and [client.ErrNoAside] if the CLI cannot do it.
	Aside(ctx context.Context, claudeSession, question string) (string, error)
	// Speed returns what Claude Code reported last about how fast the model answers: on, off, cooldown, or nothing; and why not.
	Speed(claudeSession string) (fast, why string)
	// Plan returns how much of the limits of the plan of an agent's login is used, if it is known before ctx ends.
	Plan(ctx context.Context, agent string) []domain.PlanWindow
	// Tasks returns the running subagents of a session.
	Tasks(claudeSession string) []client.Task
	// StopTask stops a subagent. The error is [client.ErrNoTask] or [client.ErrNotRunning] if it does not run, and
	// [client.ErrNoTaskStop] if the CLI cannot do it.
	StopTask(ctx context.Context, claudeSession string, number int) (client.Task, error)
	// LastChanges returns what the last turn of a session that has changed files has done to them.
	LastChanges(of claude.Place) (transcript.Changed, error)
	// Rewind restores the files that a session's tools have changed since a message, if that does what was agreed to. Without an
	// agreement, it only says what it would do. It starts a process if none runs. The error is [claude.ErrBusy],
	// [claude.ErrChanged], [client.ErrNoCheckpoint], [client.ErrNoRewind] or an [*agent.Failure].
	Rewind(ctx context.Context, of claude.Place, message string, agreed *client.Rewound) (client.Rewound, error)
	// Shell runs a line of the shell in a folder of an agent, or in its workspace, and returns its exit code. When ctx ends, the line is killed and the error is ctx's cause.
	Shell(ctx context.Context, agent, folder string, l cli.Line) (code int, err error)
	// Retire ends the idle process of a claude session.
	Retire(claudeSession string)
	// Release ends the idle process of a claude session, and waits for its end. The error is [claude.ErrBusy] while a turn runs.
	Release(ctx context.Context, claudeSession string) error
}

// Restart restarts the host.
type Restart interface {
	// Request makes the host shut down and start again, and returns at once. The error says why that would fail: the
	// host continues unchanged.
	Request(ctx context.Context) error
}

// Reloader applies the config while the host runs.
type Reloader interface {
	Reload(ctx context.Context, by string) (config.Reloaded, error)
	Set(ctx context.Context, o config.Override) (config.Reloaded, error)
	Unset(ctx context.Context, name, by string) (config.Reloaded, error)
}

// Host is what the commands use of the host. A registry that only parses may lack all of it.
type Host struct {
	Recent  *recentlog.Log
	Log     hclog.Logger // gets a line for each change of who may do what; nil: none
	Version string
	// Started is when this Host was constructed: `/restart` constructs another one.
	Started       time.Time
	Demo          bool
	ConfigPath    string
	ExportDir     string // created by the first export
	Models        *config.Derived[Models]
	Now           func() time.Time
	Zone          *time.Location // of the days that usage is counted by, and of displayed times
	Conversations *conversation.Resolver
	Plugins       *plugins.Registry // nil: none
	Health        *health.Registry  // nil: nothing is known
	Agents        Agents
	Claude        Claude
	Tools         Tools
	Projects      map[string]*project.Folder // by the agent's label
	Speech        bool                       // a text-to-speech command is configured
	Questions     *permission.Approvals
	Budgets       *spending.Budgets          // nil: none
	Restart       Restart                    // nil: it cannot restart by itself
	Reloader      Reloader                   // nil: the config stays
	Bash          bool                       // owners may run lines of the shell
	Files         *files.Store               // of their output
	Outgoing      map[string]*outgoing.Files // by the agent's label
	Worktrees     *worktree.Worktrees
	Sessions      *sessions.Sessions // of Claude Code
	Debounce      *debounce.Judge
	Jobs          *jobs.Jobs
}

// hostCommands is what the host's own commands use.
type hostCommands struct {
	store *store.Store
	turns *dispatch.Dispatcher
	host  Host
}

// commands are the host's own commands, except those that list commands.
func (d hostCommands) commands() []Command {
	return []Command{
		{Name: "new", Usage: "/new [model] [text]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Menu: true, Run: says(d.fresh)},
		{Name: "reset", Usage: "/reset [model] [text]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Run: says(d.fresh)},
		{Name: "stop", Aliases: []string{"abort"}, Usage: "/stop [keep]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Menu: true, Run: says(d.stop)},
		{Name: "agent", Usage: "/agent [name] [text]", Group: wording.GroupConversation, MinAuthority: chat.Other, Menu: d.hasAgents(), Run: d.agent},
		{Name: "cd", Usage: "/cd [folder]", Group: wording.GroupConversation, MinAuthority: chat.Other, Menu: d.hasFolders(), Run: d.cd},
		{Name: "files", Usage: "/files [path]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.files)},
		{Name: "get", Usage: "/get PATH", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: d.get},
		{Name: "worktree", Usage: "/worktree [merge|remove|restore NAME]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Slow: true, Run: d.worktree},
		{Name: "sessions", Usage: "/sessions [words]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Slow: true, Run: d.claudeSessions},
		{Name: "resume", Usage: "/resume ID", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: d.resume},
		{Name: "handoff", Usage: "/handoff", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.handoff)},
		{Name: "fork", Usage: "/fork", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.fork)},
		{Name: "compact", Usage: "/compact [what to keep]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Menu: true, Turn: true},
		{Name: "btw", Aliases: []string{"side"}, Usage: "/btw QUESTION", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Menu: true, Slow: true, Run: says(d.aside)},
		{Name: "subagents", Usage: "/subagents [stop NUMBER]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Slow: true, Run: says(d.subagents)},
		{Name: "jobs", Usage: "/jobs", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Menu: true, Run: d.jobs},
		{Name: "job", Usage: "/job NUMBER [stop]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Slow: true, Run: d.job},
		{Name: "next", Usage: "/next NUMBER", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Run: says(d.next)},
		{Name: "withdraw", Usage: "/withdraw NUMBER", Group: wording.GroupConversation, MinAuthority: chat.Other, Run: says(d.withdraw)},
		{Name: "session", Usage: "/session [label TEXT]", Group: wording.GroupConversation, MinAuthority: chat.Authorised, Menu: true, Run: says(d.session)},
		{Name: "diff", Usage: "/diff [file]", Group: wording.GroupConversation, MinAuthority: chat.Owner, Slow: true, Run: d.diff},
		{Name: "undo", Usage: "/undo", Group: wording.GroupConversation, MinAuthority: chat.Owner, Slow: true, Run: d.undo},
		{Name: "export_session", Aliases: []string{"export"}, Usage: "/export-session", Group: wording.GroupConversation, MinAuthority: chat.Owner, Run: says(d.export)},

		d.setting(think, "/think [level]", chat.Authorised, true),
		d.setting(fast, "/fast [off|on]", chat.Authorised, false),
		{Name: "model", Usage: "/model [name]", Group: wording.GroupSettings, MinAuthority: chat.Authorised, Menu: true, Run: says(d.model)},
		{Name: "models", Usage: "/models", Group: wording.GroupSettings, MinAuthority: chat.Authorised, Run: says(d.models)},
		d.setting(verbose, "/verbose [off|on|full]", chat.Authorised, true),
		d.setting(reasoning, "/reasoning [off|on|stream]", chat.Authorised, true),
		{Name: "queue", Usage: "/queue [mode] [debounce:0.5s] [cap:20] [drop:summarize]", Group: wording.GroupSettings, MinAuthority: chat.Authorised, Menu: true, Run: says(d.queue)},
		d.setting(elevated, "/elevated [off|ask|on|full]", chat.Owner, false),
		d.setting(exec, "/exec [deny|ask|full]", chat.Owner, false),
		{Name: "send", Usage: "/send [on|off|default]", Group: wording.GroupSettings, MinAuthority: chat.Owner, Run: says(d.send)},
		{Name: "tts", Usage: "/tts [off|inbound|always|tagged|status]", Group: wording.GroupSettings, MinAuthority: chat.Authorised, Run: says(d.speech)},
		{Name: "activation", Usage: "/activation [mention|always|default]", Group: wording.GroupSettings, MinAuthority: chat.Owner, Run: says(d.activation)},

		{Name: "status", Usage: "/status", Group: wording.GroupInformation, MinAuthority: chat.Authorised, Menu: true, Run: says(d.status)},
		{Name: "usage", Usage: "/usage [off|tokens|full]", Group: wording.GroupInformation, MinAuthority: chat.Authorised, Menu: true, Run: says(d.usage)},
		{Name: "context", Usage: "/context", Group: wording.GroupInformation, MinAuthority: chat.Authorised, Menu: true, Run: says(d.context)},
		{Name: "tools", Usage: "/tools", Group: wording.GroupInformation, MinAuthority: chat.Authorised, Run: says(d.tools)},
		{Name: "whoami", Aliases: []string{"id"}, Usage: "/whoami", Group: wording.GroupInformation, MinAuthority: chat.Other, Menu: true, Run: says(d.whoami)},
		{Name: "answer", Usage: "/answer ID ANSWER", Group: wording.GroupConversation, MinAuthority: chat.Other, Run: says(d.answer)},

		{Name: "allowlist", Usage: "/allowlist [add|remove [CHANNEL] USER]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Private: true, Run: says(d.allowlist)},
		{Name: "approve", Usage: "/approve ID [once|session|always], /approve [CHANNEL] CODE", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.approve)},
		{Name: "deny", Usage: "/deny ID [reason], /deny [CHANNEL] CODE", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.deny)},
		{Name: "grants", Usage: "/grants [revoke NUMBER|all]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.grants)},
		{Name: "budget", Usage: "/budget [lift CODE]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.budget)},
		{Name: "mcp", Usage: "/mcp [allow|deny CODE]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Private: true, Run: says(d.mcp)},
		d.shell(),
		{Name: "reload", Usage: "/reload", Group: wording.GroupOwners, MinAuthority: chat.Owner, Private: true, Run: says(d.reload)},
		{Name: "restart", Usage: "/restart", Group: wording.GroupOwners, MinAuthority: chat.Owner, Private: true, Run: says(d.restart)},
		{Name: "config", Usage: "/config [set|unset NAME [VALUE]]", Group: wording.GroupOwners, MinAuthority: chat.Owner, Private: true, Run: says(d.config)},
		{Name: "debug", Usage: "/debug", Group: wording.GroupOwners, MinAuthority: chat.Owner, Private: true, Run: says(d.debug)},
	}
}

// shell is the command for lines of the shell, which says how it is switched on while it is off.
func (d hostCommands) shell() Command {
	c := Command{Name: "bash", Usage: "/bash COMMAND", Group: wording.GroupOwners, MinAuthority: chat.Owner, Run: says(d.bashOff)}
	if d.host.Bash {
		c.Run, c.Shell = nil, true
	}
	return c
}

// effective returns the settings that apply in the caller's session.
func (d hostCommands) effective(call Call) *conversation.Conversation {
	return d.host.Conversations.Session(call.Caller, call.Session)
}

// gone says that the agent may not work in the session's folder any more; empty: it may.
func (d hostCommands) gone(call Call) string {
	s := call.Session
	if s.Folder != "" && !d.host.Conversations.Folders(d.effective(call).Agent).Has(s.Folder) {
		return wording.FolderGone(s.Folder)
	}
	if _, err := os.Stat(s.Place()); s.Worktree != "" && err != nil {
		return wording.WorktreeAway
	}
	return ""
}
