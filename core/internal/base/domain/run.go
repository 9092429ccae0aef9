package domain

import (
	"encoding/json"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Early is what a run sends before it is completed.
type Early struct {
	Items []OutboxItem
	// Said is the part of the current text that was sent, including these items. Of a text that is complete it is what the
	// next attempt's answer would begin with.
	Said string
	// Preview, if not nil, is posted after the items, is kept, and becomes the run's preview.
	Preview *OutboxItem
	// Unpreview is set if the run no longer has a preview because one of the items has replaced it.
	Unpreview bool
	// Sent, if not nil, informs the run's next attempt of the files of the items, through [Run]; Files are those of a
	// conversation's outgoing folder that the items send.
	Sent  *SentByTool
	Files []OutgoingFile
}

// NoteKind is the kind of a note.
type NoteKind string

// The kinds of notes.
const (
	NoteHistory  NoteKind = "history"  // a message of a group that was not for the agent
	NoteOverflow NoteKind = "overflow" // a waiting message that was dropped
	NoteEvent    NoteKind = "event"    // an event in the session
	NoteHint     NoteKind = "hint"     // information about the previous run
)

// The texts of notes of the kind [NoteHint].
const (
	HintStopped   = "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification."
	HintCutOff    = "Note: The previous agent run was cut off by a crash. What it did last may be done in part; look before you repeat it."
	HintWithdrawn = "Note: The last message that you have read and not answered was withdrawn by the user. Do not act on it."
)

// Note is information for a session's next turn besides its message. The turn that is claimed next gets it, in each of its
// attempts. The note is deleted when the turn is completed, or ends after claude has consumed its message; otherwise it
// waits for the next turn. A turn whose message claude has consumed gets no more notes, and the host's own turns
// (heartbeat, memory flush, compaction) get none.
type Note struct {
	Kind   NoteKind
	At     time.Time
	Sender string // the author, if it is a message
	Text   string
	// MessageID is the network's id of the message, of NoteHistory.
	MessageID chat.MessageID
	Count     int // NoteOverflow: number of dropped messages; otherwise 1
}

// Run is a claimed head of a lane, with the messages that are answered together with it.
type Run struct {
	ID        int64 // never reused
	Lane      Lane
	StartedAt time.Time
	Head      Queued
	// More are the messages that are answered together with Head: those of one burst, or collected ones. They follow it
	// in order and have the same authority and address.
	More    []Queued
	Notes   []Note // in order
	Dropped int    // dropped messages in Notes that the chat was not notified of
	Session Session
	// PreviousAt is when the session's previous message was received; zero: this is the first.
	PreviousAt time.Time
	// Said and Preview are what the run's previous attempts have sent: the beginning of their last text, and the item that
	// showed its continuation; zero: none.
	Said    string
	Preview int64
	// Sent is what the agent has sent to the run's own chat by a tool in previous attempts, and the files that were sent
	// early, in order.
	Sent []SentByTool
}

// All returns the messages of the run, in order.
func (r *Run) All() []Queued { return append([]Queued{r.Head}, r.More...) }

// SentByTool is a message that the agent has sent to its run's own chat by a tool, or files that were sent early.
type SentByTool struct {
	Text  string   `json:",omitempty"` // CommonMark, in full
	Files []string `json:",omitempty"` // names that identify each file and version
}

// ToolPost is a message that the agent sends by a tool.
type ToolPost struct {
	Key   Key // the same for the same tool call in every attempt
	From  Elsewhere
	Items []OutboxItem
	Sent  *SentByTool    // nil if it is for another chat
	Files []OutgoingFile // of a conversation's outgoing folder that Items send, if it is for the run's own chat
	// Numbered has the store keep the message, which is for the run's own chat, so that the agent can change it.
	Numbered bool
	Token    string   // names it in the data of its buttons; it cannot be guessed. Empty: it has none
	Labels   []string // of its buttons
}

// ToolChange changes a message that the agent has sent by a tool.
type ToolChange struct {
	Key    Key // as in [ToolPost]
	Number int64
	Texts  []OutboxItem // the new text; none: the message is deleted
	Labels []string     // of the buttons of the new text
}

// AgentMessage is a message that the agent has sent to its own conversation by a tool.
type AgentMessage struct {
	Session string
	Number  int64
	Token   string
	Texts   []int64  // the kept items of its text, in order
	Files   []int64  // those of its files, or its poll's
	Labels  []string // of its buttons
}

// RunState is how a run ended.
type RunState string

// The states of an ended run. A run that returned to its lane is RunLost.
const (
	RunDone      RunState = "done"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
	RunLost      RunState = "lost"
)

// Stage returns the stage of the messages of a run that ended in this state.
func (s RunState) Stage() Stage {
	switch s {
	case RunDone:
		return StageDone
	case RunFailed:
		return StageFailed
	default:
		return StageDropped
	}
}

// Hold returns a run to its lane for a reason that is not its message's fault.
type Hold struct {
	Until  time.Time   // the next try is not before
	Firm   bool        // a restart of the host does not end the wait
	Cause  string      // for the operator
	Notice *OutboxItem // tells the chat, until the message is claimed again or dropped; nil: nothing
	Lift   Lift        // of the budget that it waits for: it is tried at once if that is lifted, or is lifted later; zero: none
}

// Completion ends a run.
type Completion struct {
	State RunState
	Error string // for the operator; empty when done
	Items []OutboxItem
	// Transcript follows the entries of the run's messages. The store assigns the ids.
	Transcript []chat.TranscriptEntry
	// Turn is the turn's cost; nil: there was no turn. For a session that was reset meanwhile only the usage is recorded.
	Turn *TurnFigures
	// Answer is that of the [Outcome].
	Answer string
	// Files are the files of a conversation's outgoing folder that Items send. They are recorded until they are deleted.
	Files []OutgoingFile
	// Covered lists the uuids of joined messages that the run has handled. The others wait again, unless they were cleared.
	Covered []string
	// Notes are for the session's next turn.
	Notes []Note
	// From informs another session of what Items send to its chat.
	From Elsewhere
	// Reported are the ids of dead letters of the session that Items report.
	Reported []int64
	// Then is a message that goes before all waiting ones. It is dropped if the session was reset meanwhile.
	Then *Inbound
}

// Outcome is how the turn of an event has ended; the zero Outcome: it has not.
type Outcome struct {
	State  RunState // empty: it waits or runs
	Answer string   // as in [Completion]
	Error  string   // as in [Completion]
}

// OutgoingFile is a file that the agent put into a conversation's outgoing folder.
type OutgoingFile struct {
	Agent   string // in whose workspace it is
	Folder  string // relative to the workspace; no two agents have the same
	Name    string
	Version string // distinguishes it from a later file with the same name
	Sent    bool   // a copy is sent; otherwise the chat learns why not
}

// TurnFigures is the cost of a turn of claude.
type TurnFigures struct {
	Usage         Usage
	Day           string // the day it counts for, such as "2026-03-15"
	Model         string
	StopReason    string // of the model's last message; empty: unknown
	ContextTokens int64
	ContextWindow int64
	Compactions   int64 // in the turn
	Flush         bool  // it was a memory flush
	// Given replaces what the claude session has of hooks, by name; nil: unchanged. A compaction removes all of it.
	Given    map[string]string
	Accounts []Account // of the budgets that the turn counts for
	// FirstWord is the time from the acceptance of the message until its chat could see a part of the answer; zero: unknown.
	FirstWord time.Duration
}

// Followed is an entry of any session's history.
type Followed struct {
	Session string
	Entry   chat.TranscriptEntry
}

// ToolUse is a plugin's report on one use of its tool.
type ToolUse struct {
	Turn    string          `json:"turn"`
	Plugin  string          `json:"plugin"`
	Tool    string          `json:"tool"` // its plugin's name for it
	At      time.Time       `json:"at"`
	Took    time.Duration   `json:"took"` // stored in milliseconds
	Failed  bool            `json:"failed"`
	Details json.RawMessage `json:"details"`
}
