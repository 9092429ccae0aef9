package domain

import (
	"cmp"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// DirectChat is a direct chat in which its person has written to the agent.
type DirectChat struct {
	Chat   chat.ID
	Person []chat.UserID // all their ids, the channel's own first
}

// Overrides are choices of a session's people, for the session or by directives for one message. An empty field inherits.
// Values are validated by the code that sets them.
type Overrides struct {
	Model      string         `json:"model,omitempty"`      // an alias of the config, or a name for the CLI
	Effort     string         `json:"effort,omitempty"`     // off, low, medium, high, xhigh, max
	Fast       string         `json:"fast,omitempty"`       // off, on
	Permission string         `json:"permission,omitempty"` // a permission mode of the CLI
	Verbose    string         `json:"verbose,omitempty"`    // off, on, full
	Reasoning  string         `json:"reasoning,omitempty"`  // off, on, stream
	Usage      string         `json:"usage,omitempty"`      // off, tokens, full
	Queue      QueueOverrides `json:"queue,omitzero"`
	Send       string         `json:"send,omitempty"`       // allow, deny
	Activation string         `json:"activation,omitempty"` // mention, always
	TTS        string         `json:"tts,omitempty"`        // off, inbound, always, tagged
}

// Over returns the overrides with empty fields taken from base.
func (o Overrides) Over(base Overrides) Overrides {
	fill(&o.Model, base.Model)
	fill(&o.Effort, base.Effort)
	fill(&o.Fast, base.Fast)
	fill(&o.Permission, base.Permission)
	fill(&o.Verbose, base.Verbose)
	fill(&o.Reasoning, base.Reasoning)
	fill(&o.Usage, base.Usage)
	fill(&o.Queue.Mode, base.Queue.Mode)
	fill(&o.Queue.Debounce, base.Queue.Debounce)
	fill(&o.Queue.Cap, base.Queue.Cap)
	fill(&o.Queue.Drop, base.Queue.Drop)
	fill(&o.Send, base.Send)
	fill(&o.Activation, base.Activation)
	fill(&o.TTS, base.TTS)
	return o
}

// QueueOverrides are the overrides of [Queueing].
type QueueOverrides struct {
	Mode     Mode           `json:"mode,omitempty"`
	Debounce *time.Duration `json:"debounce,omitempty"`
	Cap      int            `json:"cap,omitempty"`
	Drop     Drop           `json:"drop,omitempty"`
}

// Session is a session's row.
type Session struct {
	Key           string
	ClaudeSession string // the uuid of claude's session
	Replaced      bool   // in a run: the session has another claude session by now, which receives new messages
	Folder        string // in which claude works; empty: the agent's workspace
	Worktree      string // a working copy of the Folder in which it works instead; empty: none
	ClaudeStarted bool   // claude has consumed a message in it: it is resumed, not created
	ForkOf        string // the claude session that it starts as a copy of, if it is not started; empty: none
	Host          string // the name of the host of its last turn; empty: none, or one that is alone
	Starter       string // the start of its thread, if it is not started; empty: unknown, or none
	Kind          chat.Kind
	Title         string
	Route         chat.Address  // where its last message came from; zero: only from plugins and the host
	Peer          []chat.UserID // all ids of the person whose direct chat the Route is; none for a group
	CreatedAt     time.Time
	ResetAt       time.Time // when the claude session was started
	InteractedAt  time.Time // the last message that [Message.Uses] it; zero: none
	Model         string    // the model of the last turn
	Usage         Usage
	ContextTokens int64 // used by the last request
	ContextWindow int64
	Overrides     Overrides
	Label         string // at most [MaxLabel] characters
	Compactions   int64  // of the claude session
	FlushedAt     time.Time
	// Given is what the claude session has of hooks, by the hook's name: the marks of their texts.
	Given   map[string]string
	Flushed int64 // Compactions at the last memory flush plus one; zero: no flush in this claude session
}

// Place is the working directory of claude; empty: the agent's workspace.
func (s Session) Place() string { return cmp.Or(s.Worktree, s.Folder) }

// Usage is the cost of turns. In a Session it is the total.
type Usage struct {
	Turns        int64 `json:"turns"`
	InputTokens  int64 `json:"input_tokens"` // without cached ones
	CacheTokens  int64 `json:"cache_tokens"` // read and created
	OutputTokens int64 `json:"output_tokens"`
	CostMicros   int64 `json:"cost_micros"` // millionths of a dollar
}

// DayUsage is the cost of one model on one day.
type DayUsage struct {
	Day   string
	Model string
	Usage Usage
}

// HourLatency is how long people have waited for the turns that ended in one hour.
type HourLatency struct {
	At        time.Time // the begin of the hour
	FirstWord Spread    // until their chat could see the first part of the answer, or of the progress
	Answer    Spread    // until the whole answer was durable
}

// Spread is how times are spread, within 5 percent; the zero Spread is that of none.
type Spread struct {
	Count       int64
	Median, P95 time.Duration
}

// fill sets an empty field.
func fill[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}

// MaxLabel is the maximum length of a session's label, in characters.
const MaxLabel = 64
