package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Why a turn's context ended; see [context.Cause].
var (
	// ErrStopped: somebody stopped the turn. Its run is completed as cancelled.
	ErrStopped = errors.New("the turn was stopped")
	// ErrShutdown: the host is going down and its grace is over. The run goes back to its lane.
	ErrShutdown = errors.New("the host is shutting down")
)

// ErrWithdrawn is why the context of a [Question] ended that Claude does not want answered any more, while its turn goes on.
var ErrWithdrawn = errors.New("the question was withdrawn")

// Profile is how Claude Code is run for a turn. A process goes on with another Model and Effort, where it takes them. One that
// runs with another profile otherwise is replaced before the turn, but for a SystemPrompt that alone is another one: prompts
// stay as they are while a process lives, so that they can be cached.
type Profile struct {
	Model          string // empty: the CLI's own
	Effort         string // empty: the CLI's own
	PermissionMode string
	SystemPrompt   string
	Skills         string // names the skills that SystemPrompt lists; another one needs another process
	Private        bool   // SystemPrompt opens the owner's memory; a turn with one that does not needs another process
	Tools          string // stands for the host's tools that the agent is offered; other ones need another process
}

// SkipsApproval reports whether Claude asks nothing before it runs a tool.
func (p Profile) SkipsApproval() bool { return p.PermissionMode == "bypassPermissions" }

// Line is a message for a turn that runs.
type Line struct {
	UUID string
	Text string // begins with a line of the host
}

// Turn is one message for Claude Code.
type Turn struct {
	Key       string // the host's session: of its Claude sessions only that of the latest turn keeps a process; may be empty
	Session   string // the uuid of Claude's session
	Started   bool   // the session is there: it is resumed, not begun
	ForkOf    string // the Claude session that one which is not there begins as a copy of; empty: none
	Profile   Profile
	UUID      string // of the message; Claude de-duplicates by it
	Attempt   int    // 1 the first time; a later one looks for what the earlier ones left
	Failed    Class  // why the attempt before failed, which this one follows on; zero: it was cut off by a restart, of whatever
	Consumed  bool   // Claude is known to have read the message in an earlier attempt
	Prompt    string // begins with a line of the host
	Authority chat.Authority
	Timeout   time.Duration // zero: the configured one
	// OnConsumed is called at most once, when Claude has read the message. It must not block.
	OnConsumed func()
	// Steer takes the lines that wait for the turn; it is called while a tool runs: when it begins, and each time that Nudged
	// fires. What it returned is written, also beside an error. nil: nothing is steered.
	Steer  func(ctx context.Context) ([]Line, error)
	Nudged <-chan struct{}
	// Progress is told how far the turn is whenever that changes, one call after the other. It must not block. nil: nobody
	// looks on.
	Progress func(Progress)
	// Ask decides on what Claude may not do by itself. It may take its time; ctx ends when the question is withdrawn, or the
	// turn is over, and the decision does not count any more. Questions may be open side by side. nil: all is denied.
	Ask func(ctx context.Context, q Question) Decision
	// Tools answers a message that Claude sends to the host's MCP server; a notification has no answer. Messages come side by
	// side, some of them before the turn begins, when the process starts. nil: there is no such server.
	Tools func(ctx context.Context, message json.RawMessage) (answer json.RawMessage, err error)
}

// Progress is how far a turn is, as a whole: whoever has seen a later one need not have seen the earlier ones.
type Progress struct {
	// Done are the finished steps, in order: those of an earlier Progress and more. The last text of a turn, which is its
	// answer, is not among them.
	Done []Step
	// Text is the text that is being written, or was written last: what [Result.Text] is going to be if no tool follows. It
	// grows, but for a request that is tried again, which begins it anew.
	Text string
	// Complete says that Text was written to the end of a block of its message: a pause, as the next may follow.
	Complete bool
	Running  []ToolUse // at work, the oldest first
	Thinking string    // the thought that is being thought, or was thought last; at most [MaxReasoning] bytes
	Steered  int       // how many lines were taken up in the midst of the turn
}

// Step is a finished part of a turn: a text, behind which a tool was used, or the use of a tool.
type Step struct {
	Text string
	// Earlier is what stands before Text: the answers that were over by then, where steered lines have turns of their own, with the
	// blank line behind them. They stay: the turn's answer begins with them.
	Earlier string
	Tool    ToolUse // without a name: it is a text
}

// Question is what Claude asks before it does something: whether a tool may be used, which of several ways to go
// (AskUserQuestion), or whether a plan is good (ExitPlanMode). All of it was written by the model.
type Question struct {
	Tool        string
	ToolUseID   string
	Input       json.RawMessage // the tool's, an object
	Description string          // may be empty
	Outside     string          // the path outside the workspace that it reaches; empty: none is known
	// Suggested are the rules that would spare the same question from then on, such as Bash(git status); none: no rules alone
	// would.
	Suggested []string
}

// Decision is the answer to a [Question].
type Decision struct {
	Allow   bool
	Input   json.RawMessage // allowed: what the tool is run with in place of its input; nil: that
	Message string          // denied: what the model is told
	Stop    bool            // denied: and the turn ends
}

// Result is what a turn brought. All but Text and Recovered hold for a turn that failed, too.
type Result struct {
	Text          string
	Before        []string // the texts before it, behind which a tool was used, in order: those of earlier attempts, too
	Covered       []string // the uuids of the steered lines that Claude has read in this turn, or in its earlier attempts
	Compactions   int      // of the conversation, in the course of the turn
	Model         string
	Fallback      Fallback
	InputTokens   int64 // without cached ones
	CacheTokens   int64 // read and created
	OutputTokens  int64
	CostMicros    int64 // millionths of a dollar
	ContextTokens int64 // of the last request
	ContextWindow int64
	Recovered     bool // the answer is of an earlier attempt
	Continued     bool // an earlier attempt was cut off in the midst of the work, and this one went on from there
	Tools         []ToolUse
	Reasoning     string // what the model thought, a blank line between its thoughts; at most [MaxReasoning] bytes
}

// Fallback says that another model than the chosen one has answered. The zero Fallback: none has.
type Fallback struct {
	From, To   string // models
	Overloaded bool   // that is why; else From has failed otherwise, or may not be used
}

// The limits of what a [Result] tells of the work.
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
	Output  string // the beginning of what it returned, of at most [MaxOutput] characters
	Failed  bool
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
	Timeout                 // no answer in time, or no sign of life
	ContextOverflow         // the conversation is longer than the model's window
	ContentFilter           // the model refused
	Model                   // there is no such model
	Limit                   // a limit of the CLI's own: turns or budget
	Aborted                 // the turn's context ended
	TranscriptMissing       // the session that should be resumed is gone
	Unavailable             // claude could not be started, for now: the message has not reached it
	Refused                 // claude does not run as it is set up
	Died                    // claude ended in the middle of it
	GivenUp                 // every attempt ended with the host
	Hook                    // a hook that the config requires failed
	Intruded                // something else than the host wrote into Claude's session
	NoRoom                  // this machine has no room for the turn's files, for now; Detail says what it lacks
	ChannelAway             // the channel, which has the turn's files, does not run, for now
	Unresumable             // claude ends, or hangs, whenever it takes the session up, though it starts for others
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
	case NoRoom:
		return "no_room"
	case ChannelAway:
		return "channel_away"
	case Unresumable:
		return "unresumable"
	default:
		return "unknown"
	}
}

// HeldError says that a turn could not begin or end, for want of something that is no fault of its message: its run goes back to
// its lane, is tried again after Wait, and this counts as no attempt.
type HeldError struct {
	Wait time.Duration
	Err  error
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
