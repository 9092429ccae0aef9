package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Causes of the end of a turn's context; see [context.Cause].
var (
	// ErrStopped: a person stopped the turn. Its run is completed as cancelled.
	ErrStopped = errors.New("the turn was stopped")
	// ErrShutdown: the host is shutting down and the grace is over. The run returns to its lane.
	ErrShutdown = errors.New("the host is shutting down")
)

// ErrWithdrawn is the cause of the end of a [Question]'s context if Claude no longer wants an answer while its turn
// continues.
var ErrWithdrawn = errors.New("the question was withdrawn")

// EffortOff is the effort of a model that does not think before it answers.
const EffortOff = "off"

// Profile is how Claude Code is run for a turn. A running process accepts another Model, Effort and Fast, where the CLI can.
// A process with any other difference is replaced before the turn, except if only the SystemPrompt differs: a process
// keeps its prompt, so that the API can cache it. The prompt's builder makes it; package core adds Tools, Setup and what
// SystemPrompt says about them when the turn begins, and package turn puts a fallback model in place of Model.
type Profile struct {
	Model          string // empty: the CLI's default
	Effort         string // [EffortOff], or as the CLI names it; empty: the CLI's default
	Fast           bool   // the model answers faster, at a higher price, if it can
	PermissionMode string
	SystemPrompt   string
	Skills         string          // identifies the skills listed in SystemPrompt; other skills need another process
	Private        bool            // SystemPrompt includes the owner's memory; a turn without it needs another process
	Tools          string          // identifies the host's tools; other tools need another process
	Setup          *Setup          // nil: none; another one needs another process
	Only           config.Patterns // of the tools that may be used; others need another process
	Apart          Apart           // where the file tools may not write
}

// Allows reports whether a tool, by Claude Code's name for it, may be used at all. The tools by which Claude asks people always may.
func (p Profile) Allows(tool string) bool {
	switch tool {
	case "AskUserQuestion", "ExitPlanMode":
		return true
	}
	own, _ := strings.CutPrefix(tool, "mcp__"+config.ReservedServer+"__")
	return p.Only.Fit(tool) || p.Only.Fit(own)
}

// SkipsApproval reports whether Claude runs tools without asking.
func (p Profile) SkipsApproval() bool { return p.PermissionMode == "bypassPermissions" }

// Place is the working directory; empty: the agent's workspace.
func (t Turn) Place() string { return cmp.Or(t.Worktree, t.Folder) }

// Line is a message as it is written to Claude.
type Line struct {
	UUID     string
	Text     string    // begins with a line of the host, except for /compact
	Pictures []Picture // that Claude is shown with it
}

// Turn is one message for Claude Code.
type Turn struct {
	Agent     string // the label of the agent that runs it
	Folder    string // in which it works; empty: the agent's workspace
	Worktree  string // a working copy of the Folder in which it works instead; empty: none
	Key       string // the host's session; of its claude sessions only that of the latest turn keeps a process; may be empty
	Session   string // the uuid of Claude's session
	Started   bool   // the session exists: it is resumed, not started
	ForkOf    string // a session that does not exist yet starts as a copy of this Claude session; empty: none
	Profile   Profile
	UUID      string // the message's id, by which Claude recognises duplicates
	Again     bool   // Claude may have the message from an earlier try, whose results are looked for first
	Prompt    string // as [Line.Text]
	Pictures  []Picture
	Authority chat.Authority
	Timeout   time.Duration // zero: the configured one
	Watcher   Watcher       // nil: no one
	Steering  Steering      // nil: nothing is steered
	Asker     Asker         // nil: everything that Claude may not do by itself is denied
	Tools     ToolServer    // nil: the agent is not offered the host's tools
}

// Watcher follows a running turn. Its methods must not block. Package turn implements it.
type Watcher interface {
	// Consumed is called at most once, when Claude has read the message.
	Consumed(ctx context.Context)
	// Progress receives each change of the turn's progress, one call at a time.
	Progress(p Progress)
	// Todos returns the last list of what the agent plans to do in the conversation, of this turn or an earlier one; nil: there is none.
	Todos() []domain.Todo
}

// Steering supplies the messages that join a running turn. Package turn implements it.
type Steering interface {
	// Lines takes the lines that wait for the turn. It is called when a tool begins, and when Nudged fires while a tool
	// runs. All lines that it returns are written, even with an error.
	Lines(ctx context.Context) ([]Line, error)
	// Nudged returns a channel that receives when lines may wait.
	Nudged() <-chan struct{}
}

// Asker decides what Claude may not do by itself. Package turn implements it, by permission.Approvals.
type Asker interface {
	// Ask may take long; ctx ends when the question is withdrawn or the turn ends, and the decision no longer counts.
	// Several questions may be open.
	Ask(ctx context.Context, q Question) Decision
}

// ToolServer is the host's MCP server for one turn. Package tools implements it.
type ToolServer interface {
	// Handle answers a message from Claude; a notification has no answer. Messages are concurrent, and some come before
	// the turn begins, when the process starts.
	Handle(ctx context.Context, message json.RawMessage) (answer json.RawMessage, err error)
}

// Progress is the complete progress of a turn: a later one makes earlier ones unnecessary.
type Progress struct {
	// Done are the finished steps in order; it only grows. It does not include the last text of a turn, which is its
	// answer.
	Done []Step
	// Text is the current or last text: the [Result.Text] if no tool follows. It grows, except after a repeated
	// request, which starts it again.
	Text string
	// Complete reports whether Text ends with a block of its message: a pause, after which another block may follow.
	Complete bool
	Running  []ToolUse // running, oldest first
	Thinking string    // the current or last reasoning; at most [MaxReasoning] bytes
	Steered  int       // how many lines were steered into the turn and read
	// Todos is the list of what the agent plans to do, once the turn has changed it; nil before.
	Todos []domain.Todo
}

// Step is a finished part of a turn: a text followed by a tool, or a use of a tool.
type Step struct {
	Text string
	// Earlier is the text before Text, which stays: the answers to steered lines that had turns of their own, with the
	// blank line after them. The turn's answer begins with it.
	Earlier string
	Tool    ToolUse // without a name: the step is a text
}

// Question is a question of Claude before it acts: whether it may use a tool, which option to choose (AskUserQuestion),
// or whether a plan is approved (ExitPlanMode). The model wrote all of it. Or it is what an MCP server asks people for.
type Question struct {
	// Elicits is what an MCP server asks for; nil: the question is Claude's. Then it is also the Input, and there is no Tool.
	Elicits     *Elicitation
	Tool        string
	ToolUseID   string
	Input       json.RawMessage // of the tool, an object
	Description string          // may be empty
	Outside     string          // the path outside the workspace that it would access; empty: none is known
	// Suggested are the rules that would make the same question unnecessary in the future, such as Bash(git status);
	// none: rules alone would not.
	Suggested []string
}

// Elicitation is what an MCP server asks people for: the fields of a form, or to open a link. The server wrote all of it but its name,
// which is that of the configuration.
type Elicitation struct {
	Server  string          `json:"server"`
	Message string          `json:"message"`
	URL     string          `json:"url,omitempty"`    // the link; empty: a form
	Schema  json.RawMessage `json:"schema,omitempty"` // of the form, an object
}

// Decision is the answer to a [Question].
type Decision struct {
	Allow   bool
	Input   json.RawMessage // allowed: replaces the tool's input, or is what an MCP server gets; nil: unchanged, or nothing
	Message string          // denied: the text for the model
	Stop    bool            // denied: the turn ends, too
	// Declined: people have said no to what an MCP server asks for. Without it, or Allow, it is told that nobody has answered.
	Declined bool
}

// Result is the result of a turn. All but Text and Recovered are also set for a failed turn.
type Result struct {
	Text          string
	Before        []string // earlier texts followed by a tool, in order, including those of earlier attempts
	Covered       []string // the uuids of the steered lines that Claude has read in this turn, or in its earlier attempts
	Compactions   int      // of the conversation, during the turn
	Model         string
	StopReason    string // of the model's last message, such as end_turn; empty: unknown
	Fallback      Fallback
	InputTokens   int64 // without cached ones
	CacheTokens   int64 // read and created
	OutputTokens  int64
	CostMicros    int64 // millionths of a dollar
	ContextTokens int64 // of the last request
	ContextWindow int64
	Recovered     bool // the answer is from an earlier attempt
	Continued     bool // an earlier attempt was interrupted, not by a failure of the service, and this one continued its work
	Tools         []ToolUse
	Uses          Uses
	Changes       Changes
	Reasoning     string // the model's reasoning, in paragraphs; at most [MaxReasoning] bytes
}

// Fallback reports that another model than the chosen one has answered. The zero Fallback: none.
type Fallback struct {
	From, To string // models
	Why      Class  // why From did not answer
}

// Uses counts what a turn has done by tools, without what its subagents have, and without what was refused or has failed; commands
// that failed count, too.
type Uses struct {
	Commands, Pages, Searches, Subagents int
}

// Join adds other uses.
func (u *Uses) Join(more Uses) {
	u.Commands, u.Pages = u.Commands+more.Commands, u.Pages+more.Pages
	u.Searches, u.Subagents = u.Searches+more.Searches, u.Subagents+more.Subagents
}

// Bounds of a [Result].
const (
	MaxTools     = 50       // the first ones of a turn
	MaxSummary   = 120      // characters
	MaxOutput    = 400      // characters
	MaxReasoning = 16 << 10 // bytes
)

// ToolUse is one use of a tool by the turn itself, not by a subagent.
type ToolUse struct {
	Name    string
	Summary string // one line of at most [MaxSummary] characters: the command, path, query or the like; may be empty
	Output  string // the beginning of its result, at most [MaxOutput] characters
	Failed  bool
	Denied  bool // it was not used, because it was not allowed; Failed is set, too
}

// Class is why a turn failed.
type Class int

// The classes. The zero Class is not a valid one.
const (
	Unknown           Class = iota + 1
	Auth                    // the login or key is refused
	Billing                 // no credit
	RateLimit               // the account's limit is used up until Failure.ResetsAt
	Overloaded              // the model has no capacity at the moment
	Server                  // the service failed or cannot be reached
	Timeout                 // no sign of life, or the service timed out
	TimeUp                  // the turn's time limit has passed
	ContextOverflow         // the conversation is longer than the model's window
	ContentFilter           // the model refused
	Model                   // there is no such model
	Limit                   // a limit of the CLI's own: turns or budget
	Aborted                 // the turn's context ended
	TranscriptMissing       // the session that should be resumed is gone
	Unavailable             // claude could not be started for now: the message has not reached it
	Refused                 // claude does not run in this configuration
	Died                    // claude ended during the turn
	GivenUp                 // no attempt has completed, for reasons that no other class covers
	Hook                    // a hook that the config requires failed
	Intruded                // another process wrote into Claude's session
	NoSpace                 // this machine has no space for the turn's files, for now; Detail names the resource
	ChannelAway             // the channel with the turn's files does not run, for now
	Rejected                // the API does not accept the conversation as it is
	Opened                  // another process, such as one in a terminal, has Claude's session open
	Unresumable             // claude ends, or hangs, whenever it resumes the session, though it starts for others
)

// String returns the class's name as the log prints it.
func (c Class) String() string {
	switch c {
	case Auth:
		return "auth"
	case Billing:
		return "billing"
	case RateLimit:
		return "rate_limit"
	case Overloaded:
		return "overloaded"
	case Server:
		return "server"
	case Timeout:
		return "timeout"
	case TimeUp:
		return "time_up"
	case ContextOverflow:
		return "context_overflow"
	case ContentFilter:
		return "content_filter"
	case Model:
		return "model"
	case Limit:
		return "limit"
	case Aborted:
		return "aborted"
	case TranscriptMissing:
		return "transcript_missing"
	case Unavailable:
		return "unavailable"
	case Refused:
		return "refused"
	case Died:
		return "died"
	case GivenUp:
		return "given_up"
	case Hook:
		return "hook"
	case Intruded:
		return "intruded"
	case NoSpace:
		return "no_space"
	case ChannelAway:
		return "channel_away"
	case Rejected:
		return "rejected"
	case Opened:
		return "opened"
	case Unresumable:
		return "unresumable"
	default:
		return "unknown"
	}
}

// HeldError reports that a turn could not begin or end for a reason that is not its message's fault. Its run returns to
// its lane and is tried again after Wait; this does not count as an attempt.
type HeldError struct {
	Wait   time.Duration
	Firm   bool               // a restart of the host does not end the wait
	Notice *domain.OutboxItem // tells the chat, until the next try; nil: nothing
	Lift   domain.Lift        // as in [domain.Hold]
	Why    string             // tells programs that wait for the answer; empty: nothing
	Err    error
}

// Error returns the cause.
func (e *HeldError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HeldError) Unwrap() error { return e.Err }

// Failure is a turn that failed.
type Failure struct {
	Class    Class
	Detail   string    // for the log; holds no secret
	ResetsAt time.Time // RateLimit: when it is over; zero: not known
	Err      error     // may be nil
}

// Error returns the class and the detail.
func (f *Failure) Error() string {
	text := f.Class.String()
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
