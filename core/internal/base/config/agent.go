package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/session"
)

// Agent is a name, a folder and how Claude is run there.
type Agent struct {
	Label       string   // [session.MainAgent] for the block without a label
	Name        string   // what the agent calls itself; default "Claw" for main, else the label
	Description string   // shown to people who choose; may be empty
	OpenTo      string   // who may choose the agent: [OpenToOwners] (default), [OpenToAllowed], [OpenToEveryone]
	Workspace   string   // claude's working folder, which may not exist yet; default ~/clawhost for main, others have none
	Folders     []string // patterns of further folders in which people may have the agent work, as [filepath.Match] has them
	// SystemPrompt is appended to claude's own; it may be empty.
	SystemPrompt string
	ContextFiles []string // files shown to the agent if they exist; default AGENTS.md of the workspace
	// Timezone is the time zone of times shown to the agent. Default: the machine's for main, else main's.
	Timezone *time.Location
	Skills   Patterns // of the skills that are used; default ["*"]
	// Project lists the parts of the workspace's own setup for Claude Code that are used: instructions, skills, agents, mcp.
	Project      []string
	TrustProject bool // Claude Code uses the setup as it is, with its hooks, settings and environment
	// Worktree is which conversations work in git worktrees of their own: [WorktreeOff] (default), [WorktreeThread].
	Worktree      string
	WorktreeSetup string // a line of the shell that is run in each new worktree; empty (default): none
	// RunsOn are the names and labels of the hosts that run it, of those that share a database; none (default): each.
	RunsOn []string

	Claude    Claude
	Heartbeat Heartbeat // never inherited

	written *hclsyntax.Block // in the file; nil for main
}

// Who may choose an agent. Whoever may write in a conversation uses the agent that it has without a choice.
const (
	OpenToOwners   = "owners"
	OpenToAllowed  = "allowed"  // people who may use commands
	OpenToEveryone = "everyone" // who may write
)

// Which conversations work in git worktrees of their own.
const (
	WorktreeOff    = "off"
	WorktreeThread = "thread" // threads and topics
)

// Worktrees is the folder of the agent's worktrees. It is beside the workspace, because nobody has access to the state folder.
func (a *Agent) Worktrees() string {
	return filepath.Join(filepath.Dir(a.Workspace), ".worktrees", a.Label)
}

// Claude configures the claude CLI for an agent. Model names are resolved, not aliases. What a block within an agent leaves out
// is as at the top level.
type Claude struct {
	Command         string            // a name found on PATH, or an absolute path; default "claude"
	Model           string            // empty (default): the CLI's own
	FallbackModels  []string          // tried in this order while the model cannot answer
	Aliases         map[string]string // models by alias, the same for all agents; no two aliases differ in case only
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
	Timeout         time.Duration     // for one turn; default 30 minutes
	Retries         int               // after errors of the service; 0 to 10; default 3
	AskTimeout      time.Duration     // for answers to questions and approvals; default 1 hour
	ToolTimeout     time.Duration     // for one call of a plugin's or host's tool; default 1 minute
	ContextBudget   int               // tokens that count as the model's window when Claude Code compacts; default 0: the model's own
}

// Processes configures the claude processes of all agents together.
type Processes struct {
	Mode      string        // persistent (default): a process serves a session's turns; oneshot: one turn
	Max       int           // default 4
	MaxMemory int64         // total bytes above which idle processes are ended; default [HalfOfMemory]; zero: no limit
	RecycleAt int64         // bytes above which a process is ended once it is idle; default 512 MB; zero: never
	ParkAfter time.Duration // idle time after which a process is ended; zero (default): by use and memory
	Spare     int           // processes that wait for a conversation to begin; default [AutoSpare]; zero: none
}

// AutoSpare as Spare means one where memory allows.
const AutoSpare = -1

// HalfOfMemory as MaxMemory means half of the machine's memory.
const HalfOfMemory = -1

// Environment returns what the config adds to claude's environment.
func (c Claude) Environment() map[string]string {
	all := map[string]string{}
	maps.Copy(all, c.Env)
	if c.ContextBudget > 0 {
		all["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = strconv.Itoa(c.ContextBudget)
	}
	return all
}

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

// AllAgents returns all agents, main first.
func (c *Config) AllAgents() []*Agent { return append([]*Agent{&c.Agent}, c.Agents...) }

// AgentNamed returns the agent with a label, or nil.
func (c *Config) AgentNamed(label string) *Agent {
	if label == session.MainAgent {
		return &c.Agent
	}
	for _, a := range c.Agents {
		if a.Label == label {
			return a
		}
	}
	return nil
}

// block describes the block without a label.
func (a *Agent) block() block {
	const top, ofClaude = "Write it at the top level.", "Write it in the block claude."
	return block{path: "agent", elsewhere: map[string]string{
		"budget": `Write it at the top level. With per = "agent" it counts for each agent.`, "route": top, "access": top, "claude": top, "heartbeat": top,
		"model": ofClaude, "effort": ofClaude, "permission_mode": ofClaude, "allowed_tools": ofClaude, "api_keys": ofClaude, "env": ofClaude,
	}, attrs: []attr{
		{"name", filled(&a.Name)},
		{"description", text(&a.Description)},
		{"open_to", oneOf(&a.OpenTo, OpenToOwners, OpenToAllowed, OpenToEveryone)},
		{"workspace", path(&a.Workspace)},
		{"folders", folders(&a.Folders)},
		{"system_prompt", text(&a.SystemPrompt)},
		{"context_files", pathsFrom(&a.ContextFiles, &a.Workspace)}, // after workspace
		{"timezone", timezone(&a.Timezone)},
		{"skills", globs(&a.Skills)},
		{"project", parts(&a.Project)},
		{"trust_project", boolean(&a.TrustProject)},
		{"worktree", oneOf(&a.Worktree, WorktreeOff, WorktreeThread)},
		{"worktree_setup", text(&a.WorktreeSetup)},
		{"runs_on", hostWords(&a.RunsOn)},
	}}
}

// blockOf describes the block with a label, or without one.
func (a *Agent) blockOf(label string) block {
	b := a.block()
	if label != "" {
		b.needs = []string{"workspace"}
		b.blocks = []child{one(a.Claude.block()), one(a.Heartbeat.block())}
	}
	return b
}

// claudeBlock describes the block of the top level. Some of its arguments apply to all agents, and no agent has its own.
func (c *Config) claudeBlock() block {
	b := c.Agent.Claude.block()
	b.attrs = append(b.attrs, []attr{
		{"aliases", aliases(&c.Agent.Claude.Aliases)},
		{"mode", oneOf(&c.Processes.Mode, "persistent", "oneshot")},
		{"max_processes", whole(&c.Processes.Max, 1, 256)},
		{"max_memory", sizeOrNone(&c.Processes.MaxMemory, 64<<20, 1<<40)},
		{"recycle_at", sizeOrNone(&c.Processes.RecycleAt, 64<<20, 1<<40)},
		{"park_after", orAuto(&c.Processes.ParkAfter, 0, time.Millisecond)},
		{"spare", autoOrWhole(&c.Processes.Spare, AutoSpare, 16)},
	}...)
	b.elsewhere = nil
	return b
}

// block describes the block within an agent.
func (c *Claude) block() block {
	const all = "It applies to all agents: write it in the block claude of the top level."
	return block{
		path:   "claude",
		blocks: []child{{name: "mcp", labelled: true, holds: c.serverBlock}},
		elsewhere: map[string]string{
			"aliases": all, "mode": all, "max_processes": all, "max_memory": all, "recycle_at": all, "park_after": all, "spare": all,
		},
		attrs: []attr{
			{"command", command(&c.Command)},
			{"model", word(&c.Model)},
			{"fallback_models", words(&c.FallbackModels)},
			{"effort", effort(&c.Effort)},
			{"fast", boolean(&c.Fast)},
			{"permission_mode", oneOf(&c.PermissionMode, "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto")},
			{"allowed_tools", texts(&c.AllowedTools)},
			{"disallowed_tools", texts(&c.DisallowedTools)},
			{"args", arguments(&c.Args)},
			{"api_keys", keys(&c.APIKeys)},
			{"env", environment(&c.Env, &c.APIKeys)}, // after api_keys
			{"timeout", duration(&c.Timeout, time.Millisecond)},
			{"retries", whole(&c.Retries, 0, 10)},
			{"ask_timeout", duration(&c.AskTimeout, time.Second)},
			{"tool_timeout", duration(&c.ToolTimeout, time.Second)},
			{"context_budget", whole(&c.ContextBudget, 0, 10_000_000)},
		},
	}
}

func effort(to *string) setter {
	return oneOf(to, "", "off", "low", "medium", "high", "xhigh", "max")
}

// agent reads the block of a further agent. The rest of the file, except for plugins, must have been read before.
func (d *decoder) agent(b *hclsyntax.Block, c *Config) *Agent {
	label := b.Labels[0]
	switch {
	case label == session.MainAgent:
		d.report(b.LabelRanges[0], "Unsuitable label", "The agent main is configured by the blocks agent, claude and heartbeat without a label.")
	case !labelForm().MatchString(label):
		d.report(b.LabelRanges[0], "Unsuitable label", "An agent's label has 1 to 32 of the characters a to z, 0 to 9, _ and -.")
	}
	a := &Agent{
		Label: label, Name: label, OpenTo: OpenToOwners, Worktree: WorktreeOff, Timezone: c.Agent.Timezone, Skills: PatternsOf("*"),
		Claude: c.Agent.Claude.inherited(b.Body), Heartbeat: defaultHeartbeat, written: b,
	}
	d.decode(b.Body, a.blockOf(label))
	a.complete()
	return a
}

// inherited returns what the claude block of an agent's body starts from. Its lists, its environment and its servers replace those
// of the top level as a whole; own keys also replace inherited credentials.
func (c Claude) inherited(body *hclsyntax.Body) Claude {
	for _, b := range body.Blocks {
		if b.Type != "claude" {
			continue
		}
		if slices.ContainsFunc(b.Body.Blocks, func(inner *hclsyntax.Block) bool { return inner.Type == "mcp" }) {
			c.MCP = nil
		}
		if b.Body.Attributes["api_keys"] != nil {
			c.Env = maps.Clone(c.Env)
			maps.DeleteFunc(c.Env, func(name, _ string) bool { return slices.Contains(credentials, name) })
		}
	}
	c.FallbackModels = slices.Clone(c.FallbackModels) // aliases in it are replaced
	return c
}

// complete sets what depends on other settings of the agent.
func (a *Agent) complete() {
	a.Claude.resolveModels()
	if a.ContextFiles == nil && a.Workspace != "" {
		a.ContextFiles = []string{filepath.Join(a.Workspace, "AGENTS.md")}
	}
}

// attribute returns an argument of one of the blocks of the agent: agent, claude or heartbeat; nil: the file does not set it there.
func (a *Agent) attribute(body *hclsyntax.Body, block, name string) *hclsyntax.Attribute {
	switch {
	case a.Label == session.MainAgent:
		return attribute(body, block, name)
	case block == "agent":
		return a.written.Body.Attributes[name]
	default:
		return attribute(a.written.Body, block, name)
	}
}

// title names an argument of the agent for errors.
func (a *Agent) title(block, name string) string {
	if a.Label == session.MainAgent {
		return block + "." + name
	}
	return fmt.Sprintf("%s.%s of agent %q", block, name, a.Label)
}

// folders stores patterns of folders.
func folders(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			s, ok := e.filled()
			if !ok {
				continue
			}
			path, err := v.d.resolve(v.d.dir, s)
			if err == nil {
				_, err = filepath.Match(path, "")
			}
			if err != nil {
				e.refuse("must be paths of folders, in which * may stand for a part of a name: %s", err)
				continue
			}
			list = append(list, path)
		}
		*to = list
	}
}

// agentName stores the label of an agent.
func agentName(to *string) setter {
	return func(v value) {
		s, ok := v.filled()
		switch {
		case !ok:
		case !slices.Contains(v.d.agents, s):
			v.d.report(v.at(), "Unknown agent", fmt.Sprintf("%s names %q, and no agent block has this label.%s", v.name, s, suggestion(s, v.d.agents)))
		default:
			*to = s
		}
	}
}
