package domain

import (
	"encoding/json"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Early is what a run sends before it is completed.
type Early struct {
	Items []OutboxItem
	// Said is the part of the text in the making that was sent, these items included.
	Said string
	// Preview, where it is not nil, is posted behind the items, is kept, and becomes the run's preview.
	Preview *OutboxItem
	// Unpreview says that the run has no preview any more, as one of the items has taken its place.
	Unpreview bool
	// Sent, where it is not nil, is what the run's next attempt is to know of the files of the items by [Run], and Files are those
	// of a conversation's outgoing folder that the items deal with.
	Sent  *SentByTool
	Files []OutgoingFile
}

// NoteKind is what sort of thing a session's next turn is told.
type NoteKind string

// The kinds of notes.
const (
	NoteHistory  NoteKind = "history"  // a message of a group that was not for the agent
	NoteOverflow NoteKind = "overflow" // a waiting message that was dropped
	NoteEvent    NoteKind = "event"    // something that happened to the session
	NoteHint     NoteKind = "hint"     // what the agent must know of the run before
)

// Note is something that a session's next turn is told beside its message. The turn that is claimed next gets it, in each
// of its attempts, and it is gone once the turn is done, or is over after claude has consumed its message; else it waits for
// the next one. A turn whose message claude has consumed gets no more, and the host's own turns get none: of the heartbeat, a
// memory flush, a compaction.
type Note struct {
	Kind   NoteKind
	At     time.Time
	Sender string // who wrote, where it is a message
	Text   string
	Count  int // NoteOverflow: how many dropped messages it stands for; else 1
}

// Run is a claimed lane head.
type Run struct {
	ID        int64 // never reused
	Lane      Lane
	StartedAt time.Time
	Message   Queued
	// More are the messages that are answered together with Message: those of one burst, or collected ones. They come after
	// it, in order, are of the same authority and of the same address.
	More    []Queued
	Notes   []Note // in order
	Dropped int    // dropped messages of the Notes that the chat was not told of
	Session Session
	// PreviousAt is when the session's previous message was received; zero: it is the first.
	PreviousAt time.Time
	// Said and Preview are what the run's earlier attempts have sent already: the beginning of their last text, and the item
	// that showed how it went on; zero: none.
	Said    string
	Preview int64
	// Sent is what the agent has sent to the run's own chat by a tool in earlier attempts, and the files that were sent early, in
	// order.
	Sent []SentByTool
}

// Told is something that the agent has sent to its run's own chat by a tool, or files that were sent early.
type SentByTool struct {
	Text  string   `json:",omitempty"` // CommonMark, in full
	Files []string `json:",omitempty"` // names that tell each from any other file, and from a later one in its place
}

// ToolPost is something that the agent sends by a tool.
type ToolPost struct {
	Key   string // the same for the same use of the tool, in any attempt
	From  Elsewhere
	Items []OutboxItem
	Sent  *SentByTool    // nil: it is for another chat
	Files []OutgoingFile // of a conversation's outgoing folder that Items deal with, where it is for the run's own chat
}

// RunState is how a run ended.
type RunState string

// The states of an ended run. A run that was reclaimed is RunLost.
const (
	RunDone      RunState = "done"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
	RunLost      RunState = "lost"
)

// Stage is what the messages of a run show that ended so.
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

// Completion ends a run.
type Completion struct {
	State RunState
	Error string // for the operator; empty when done
	Items []OutboxItem
	// Transcript comes behind what the run's messages said. The store gives the ids.
	Transcript []chat.TranscriptEntry
	// Turn is what the turn cost; nil: there was none. It is dropped for a session that was reset meanwhile, but for the
	// usage.
	Turn *TurnFigures
	// Answer is what Watch tells of the run.
	Answer string
	// Files are those of a conversation's outgoing folder that Items deal with. They are known from then on, until they are
	// forgotten.
	Files []OutgoingFile
	// Covered are the uuids of joined messages that the run has dealt with. The others wait again, unless they were cleared.
	Covered []string
	// Notes are told to the session's next turn.
	Notes []Note
	// Undelivered makes the items, which come before Items, that tell of items of the session's runs that were given up and
	// that nobody was told of yet. It may be called twice. Where it makes none, or is nil, they are told at another time.
	Undelivered func([]DeadLetter) []OutboxItem
	// Then is a message that comes before all that waits. It is dropped for a session that was reset meanwhile.
	Then *Inbound
}

// OutgoingFile is a file that the agent put into a conversation's outgoing folder.
type OutgoingFile struct {
	Folder  string // relative to the workspace
	Name    string
	Version string // tells it from a later one of its name
	Sent    bool   // a copy is sent; else the chat is told why not
}

// TurnFigures is what a turn of claude cost.
type TurnFigures struct {
	Usage         Usage
	Day           string // on which it counts, such as "2026-03-15"
	Model         string
	ContextTokens int64
	ContextWindow int64
	Compactions   int64 // in the turn
	Flush         bool  // it was a memory flush
}

// Followed is an entry of any session's history.
type Followed struct {
	Session string
	Entry   chat.TranscriptEntry
}

// ToolUse is what a plugin's tool told the host of one of its uses.
type ToolUse struct {
	Turn    string          `json:"turn"`
	Plugin  string          `json:"plugin"`
	Tool    string          `json:"tool"` // as its plugin names it
	At      time.Time       `json:"at"`
	Took    time.Duration   `json:"took"` // kept in milliseconds
	Failed  bool            `json:"failed"`
	Details json.RawMessage `json:"details"`
}
