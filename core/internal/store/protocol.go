// Package store keeps everything that must survive a crash: the inbox and its lanes, runs, sessions, transcripts, the
// outbox, pairing, plugin state. Its API is the steps of one protocol, each of them one transaction; it is the only
// package with SQL.
//
// A message is accepted into a lane, the lane's head is claimed as a run, the run is completed together with the pieces
// of its answer, and each piece is claimed, sent and marked delivered. A step that a crash cut off is found again by
// Reclaim. A run's id is its fencing token: a step of a run that is no longer its lane's returns [ErrFenced].
package store

import (
	"errors"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// ErrFenced is returned to a run that has lost its lane: it must stop and drop its result.
var ErrFenced = errors.New("the run has lost its lane")

// ErrLaneFull is returned by Accept for a lane with too many waiting messages.
var ErrLaneFull = errors.New("the lane is full")

// ErrNotFound is returned for a row that is not there.
var ErrNotFound = errors.New("not found")

// ErrNotYours is returned by Withdraw for a message that who asks may not drop.
var ErrNotYours = errors.New("not yours")

// ErrConflict is returned by PutState when the revision is another one.
var ErrConflict = errors.New("revision conflict")

// Lane is one of a session's queues. Each runs one message at a time, in order; they run side by side.
type Lane string

// The lanes.
const (
	TurnLane    Lane = "turn"    // messages for the agent
	ControlLane Lane = "control" // the host's own commands, which must work whatever else runs
	CommandLane Lane = "command" // the commands of plugins, which may take their time
)

// Message is what an inbox row holds: an event, finalised.
type Message struct {
	Channel   string         `json:"channel"`
	Chat      chat.Chat      `json:"chat"`
	Thread    chat.ThreadID  `json:"thread,omitempty"`
	ID        chat.MessageID `json:"id,omitempty"` // the network's; empty for commands from a menu and for turns of plugins
	Sender    chat.Sender    `json:"sender"`
	Authority chat.Authority `json:"authority"`
	SentAt    time.Time      `json:"sent_at"`
	Text      string         `json:"text"`          // for the agent: without mentions of it and directives
	Raw       string         `json:"raw,omitempty"` // as it was written, where Text is not
	Media     []chat.Media   `json:"media,omitempty"`
	ReplyTo   *chat.Quote    `json:"reply_to,omitempty"`
	Forwarded *chat.Forward  `json:"forwarded,omitempty"`
	Starter   string         `json:"-"`                  // what its thread began with, which the session keeps; empty: it is not told
	Overrides Overrides      `json:"overrides,omitzero"` // of its directives
	Origin    Origin         `json:"origin,omitempty"`
	Command   *Command       `json:"command,omitempty"` // set: a command, which claude does not see
	Fresh     bool           `json:"fresh,omitempty"`   // begin a new claude session before this message, or where it is dropped
	Silent    bool           `json:"silent,omitempty"`  // the answer is not sent to the chat (a plugin's turn)
	Timeout   time.Duration  `json:"timeout,omitempty"` // zero: the configured one
	// Edition is the edit that the message is of, where claude was told it as it was before and has not read that: the UUID is
	// the edit's then, as claude does not take the old one again. Empty: none.
	Edition chat.EventID `json:"edition,omitempty"`
}

// Written is the text as it was written.
func (m Message) Written() string {
	if m.Raw != "" {
		return m.Raw
	}
	return m.Text
}

// Origin is what a message comes from that no person wrote.
type Origin string

// The origins. The zero Origin is a person's.
const (
	OriginPlugin    Origin = "plugin"
	OriginFlush     Origin = "memory_flush"
	OriginHeartbeat Origin = "heartbeat"
	OriginCompact   Origin = "compact" // the text is what the compaction should keep
)

// Command is a parsed slash command.
type Command struct {
	Name string    `json:"name"` // lower case, without a slash
	Args string    `json:"args,omitempty"`
	And  []Command `json:"and,omitempty"` // further ones of the same message: several directives and nothing else
	// Plain says that the host has made it of a message that is none: the answer to a question.
	Plain bool `json:"plain,omitempty"`
}

// Address is where the message came from and where its answer goes.
func (m Message) Address() chat.Address {
	return chat.Address{Channel: m.Channel, Chat: m.Chat.ID, Thread: m.Thread}
}

// Inbound is an event to accept.
type Inbound struct {
	EventID    chat.EventID // with the message's channel the dedupe key
	Session    string       // the session key
	Lane       Lane
	Message    Message
	ReadyAt    time.Time // not claimed before; zero: at once
	MaxWaiting int       // more waiting messages in the lane are ErrLaneFull; zero: no limit
	// Reset begins a new claude session with the event: what is claimed from then on runs in it.
	Reset bool
	// Parent is the session whose conversation a session that this event makes goes on with at its first turn, as a thread does
	// with its chat's; empty: none.
	Parent string
	Queue  Queueing
	Burst  Burst
	Expiry Expiry
	// Model becomes the session's, where "" is the config's; nil: it stays.
	Model *string
	// Hint is what the next turn is told if the event ends a running one; nil: nothing.
	Hint *Note
	// Receipt makes the piece that shows that the message waits, where it does so behind others than its own burst in the turn
	// lane, and cannot be told to the running turn. It is kept, and its message is deleted when the message waits no longer. It may be called twice; nil: there is none.
	Receipt func(Acceptance) Piece
	// Reacts says that the message, which has an id and waits in the turn lane, shows how far its answer is: see [Store.Reactions].
	Reacts bool
}

// Mode is what becomes of a message that arrives while its session's turn runs.
type Mode string

// The modes. Any other, the zero one among them, counts as Followup.
const (
	Followup     Mode = "followup"      // it waits for a turn of its own, which begins when the lane has been quiet
	Queue        Mode = "queue"         // the same, without the wait for quiet
	Collect      Mode = "collect"       // it waits for a turn together with others
	Steer        Mode = "steer"         // it is told to the running turn, or waits like Followup
	SteerBacklog Mode = "steer-backlog" // the same
	Interrupt    Mode = "interrupt"     // it ends the running turn and drops what waits, or waits where any of that is of a higher authority
)

// Drop is which message is dropped when too many wait.
type Drop string

// The ways to drop. Any other, the zero one among them, counts as DropSummarize.
const (
	DropOld       Drop = "old"       // the one that has waited for the longest
	DropNew       Drop = "new"       // the new one
	DropSummarize Drop = "summarize" // the oldest, of which the next turn is told a line
)

// Queueing is how a message waits in the turn lane.
type Queueing struct {
	Mode Mode
	// Quiet is how long after it came a message is claimed that came to others, or to a running turn. What is collected
	// waits for the quiet after the last of it, for five times as long at most.
	Quiet time.Duration
	Cap   int // more waiting messages are dropped, where a burst is one; zero: no limit
	Drop  Drop
}

// Burst joins messages that come in quick succession into one turn. The zero Burst joins none.
type Burst struct {
	Window time.Duration // a message that comes within it of the one before joins it
	By     string        // who wrote: only messages of the same are joined; "": none
	// The bounds of a burst; a message that goes beyond one begins another.
	Messages int
	Bytes    int
	Wait     time.Duration // from the first message
	// Now says that the message ends the burst: what it joins, and itself, are claimed at once.
	Now bool
}

// Expiry is when a session begins a new claude session by itself: at a message of a person who comes back to it. The zero
// Expiry is never.
type Expiry struct {
	Idle  time.Duration // without a person's message for so long; zero: never
	Since time.Time     // claude sessions that were begun before are over; zero: none
}

// Acceptance is what became of an accepted event.
type Acceptance struct {
	Duplicate bool
	Seq       int64  // zero: the event was dropped, for too many wait
	Waiting   int    // messages before it in the lane, the running one included
	Running   bool   // a run holds the lane
	Replaced  string // the claude session that a reset left behind, or its expiry
	// Superseded is the run that the event took the lane from, which must end; zero: none.
	Superseded int64
}

// Standing is how far a message is on its way to an answer.
type Standing string

// The standings.
const (
	StandingNone    Standing = ""        // it is not known, was answered, or was dropped
	StandingWaiting Standing = "waiting" // no turn has it
	StandingRunning Standing = "running" // a turn has it, or had it and tries again
	StandingTold    Standing = "told"    // it was written to a running turn, which may have read it
)

// Overheard is an event that starts no turn and is kept all the same: what a group says among itself, or what a session
// is told that must not answer.
type Overheard struct {
	EventID chat.EventID
	Channel string
	Session string
	// Note is told to the session's next turn, among the newest Limit of its kind; nil: nothing is.
	Note  *Note
	Limit int
	// Transcript is what the session's history gets.
	Transcript []chat.TranscriptEntry
	Starter    string // what the session's thread began with; empty: it is not told
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

// Queued is an inbox row.
type Queued struct {
	Seq           int64
	Burst         int64 // the Seq of the first message of its burst; its own if it is alone
	Message       Message
	UUID          string    // the message's id for claude, derived from channel and event id, or Edition
	ClaudeSession string    // the claude session that it was first claimed for
	ConsumedAt    time.Time // when claude echoed the uuid; zero: not known to be consumed
	ReceivedAt    time.Time
	Attempts      int // how often it was claimed and not released
}

// Run is a claimed lane head.
type Run struct {
	ID      int64 // never reused
	Lane    Lane
	Message Queued
	// More are the messages that are answered together with Message: those of one burst, or collected ones. They come after
	// it, in order, are of the same authority and of the same address.
	More    []Queued
	Notes   []Note // in order
	Session Session
	// PreviousAt is when the session's previous message was received; zero: it is the first.
	PreviousAt time.Time
	// Said and Preview are what the run's earlier attempts have sent already: the beginning of their last text, and the piece
	// that showed how it went on; zero: none.
	Said    string
	Preview int64
	// Told is what the agent has sent to the run's own chat by a tool in earlier attempts, and the files that were sent early, in
	// order.
	Told []Told
}

// Told is something that the agent has sent to its run's own chat by a tool, or files that were sent early.
type Told struct {
	Text  string   `json:",omitempty"` // CommonMark, in full
	Files []string `json:",omitempty"` // names that tell each from any other file, and from a later one in its place
}

// Telling is something that the agent sends by a tool.
type Telling struct {
	Key    string // the same for the same use of the tool, in any attempt
	From   Elsewhere
	Pieces []Piece
	Told   *Told          // nil: it is for another chat
	Files  []OutgoingFile // of a conversation's outgoing folder that Pieces deal with, where it is for the run's own chat
}

// Session is a session's row.
type Session struct {
	Key           string
	ClaudeSession string // the uuid of claude's session
	Replaced      bool   // in a run: another claude session is the session's by now, and what is written goes there
	ClaudeStarted bool   // claude has consumed a message in it: it is resumed, not begun
	ForkOf        string // the claude session that it begins as a copy of, where it is not started; empty: none
	Starter       string // what its thread began with, where it is not started; empty: that is not known, or there is none
	Kind          chat.Kind
	Title         string
	Route         chat.Address // where its last message came from; zero: only plugins and the host have had it do something
	CreatedAt     time.Time
	ResetAt       time.Time // when the claude session was begun
	InteractedAt  time.Time // the last message of a person, commands not counted; zero: there was none
	Model         string    // the model of the last turn
	Usage         Usage
	ContextTokens int64 // used by the last request
	ContextWindow int64
	Overrides     Overrides
	Label         string // at most [MaxLabel] characters
	Compactions   int64  // of the claude session
	FlushedAt     time.Time
	Flushed       int64 // Compactions at the last memory flush plus one; zero: there was none in this claude session
}

// MaxLabel is the longest label of a session, in characters.
const MaxLabel = 64

// Usage is what turns cost. In a Session it is the sum over its life.
type Usage struct {
	Turns        int64
	InputTokens  int64 // without cached ones
	CacheTokens  int64 // read and created
	OutputTokens int64
	CostMicros   int64 // millionths of a dollar
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

// Completion ends a run.
type Completion struct {
	State  RunState
	Error  string // for the operator; empty when done
	Pieces []Piece
	// Transcript comes behind what the run's messages said. The store gives the ids.
	Transcript []chat.TranscriptEntry
	// Turn is what the turn cost; nil: there was none. It is dropped for a session that was reset meanwhile, but for the
	// usage.
	Turn *TurnFigures
	// Answer is what Watch tells of the run.
	Answer string
	// Files are those of a conversation's outgoing folder that Pieces deal with. They are known from then on, until they are
	// forgotten.
	Files []OutgoingFile
	// Covered are the uuids of joined messages that the run has dealt with. The others wait again, unless they were cleared.
	Covered []string
	// Notes are told to the session's next turn.
	Notes []Note
	// Undelivered makes the pieces, which come before Pieces, that tell of pieces of the session's runs that were given up and
	// that nobody was told of yet. It may be called twice. Where it makes none, or is nil, they are told at another time.
	Undelivered func([]DeadPiece) []Piece
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

// DayUsage is what one model cost on one day.
type DayUsage struct {
	Day   string
	Model string
	Usage Usage
}

// Followed is an entry of any session's history.
type Followed struct {
	Session string
	Entry   chat.TranscriptEntry
}

// Piece is a message for a chat, or a change of one.
type Piece struct {
	To      chat.Address
	Text    string
	ReplyTo chat.MessageID
	Media   []chat.Media
	Buttons [][]chat.Button
	Silent  bool // without a notification, where the network can
	// Kept says that another piece may edit this one.
	Kept bool
	// Edits is the kept piece, of the same destination, whose message gets this text and these buttons instead; without a text
	// it is deleted. Zero: this is a message of its own. A piece that waits when another one that edits it is posted is not
	// sent any more, nor is one that was given up.
	Edits int64
	// OrSend says that what cannot be edited, for whatever reason, is sent as a message of its own, in the place of the old one
	// where that can be deleted; else it is let be. Files cannot be edited in.
	OrSend bool
}

// Elsewhere is what a session is told of a message to its chat that did not come from it. The zero Elsewhere tells nothing.
type Elsewhere struct {
	Session string               // who says it; empty: no session does
	Said    chat.TranscriptEntry // without a time; a text that is empty is not told
	Note    string               // what the session's next turn is told
}

// Early is what a run sends before it is completed.
type Early struct {
	Pieces []Piece
	// Said is the part of the text in the making that was sent, these pieces included.
	Said string
	// Preview, where it is not nil, is posted behind the pieces, is kept, and becomes the run's preview.
	Preview *Piece
	// Unpreview says that the run has no preview any more, as one of the pieces has taken its place.
	Unpreview bool
	// Told, where it is not nil, is what the run's next attempt is to know of the files of the pieces by [Run], and Files are those
	// of a conversation's outgoing folder that the pieces deal with.
	Told  *Told
	Files []OutgoingFile
}

// Delivery is a piece that was claimed for sending.
type Delivery struct {
	ID        int64
	Key       string // the idempotency key, unique to this database and piece
	Piece     Piece
	RunID     int64 // zero: no run's
	CreatedAt time.Time
	Attempts  int  // sends before this one, those not that were excused
	Uncertain bool // an earlier send's outcome is unknown
	// Target is the message that the piece edits; empty where it is gone, or was never sent.
	Target chat.MessageID
	// TargetSentAt is when that message was sent, not when it was edited last; zero without a target.
	TargetSentAt time.Time
}

// Again is how a claimed delivery that failed is tried again.
type Again struct {
	At        time.Time // not before
	Cause     string    // for the operator
	Uncertain bool      // the piece may have arrived all the same
	Excused   bool      // the send does not count as an attempt: it failed by no fault of the piece
}

// DeadPiece is a piece that was given up.
type DeadPiece struct {
	ID        int64        `json:"id"`
	To        chat.Address `json:"to"`
	Text      string       `json:"text"`
	CreatedAt time.Time    `json:"created_at"`
	DiedAt    time.Time    `json:"died_at"`
	Attempts  int          `json:"attempts"`
	Error     string       `json:"error"`
	RunID     int64        `json:"run_id,omitempty"`  // zero: no run's
	Session   string       `json:"session,omitempty"` // the run's
	Media     []chat.Media `json:"media,omitempty"`
}

// Pairing is a stranger's request to be let in.
type Pairing struct {
	Code      string      `json:"code"`
	Channel   string      `json:"channel"`
	User      chat.UserID `json:"user"`
	Name      string      `json:"name"`
	Chat      chat.ID     `json:"chat"`
	CreatedAt time.Time   `json:"created_at"`
	ExpiresAt time.Time   `json:"expires_at"`
}

// Process is a child process of the host, kept so that the next life can end it.
type Process struct {
	Kind      string // "plugin" or "claude"
	Name      string // the plugin's instance or the claude session
	PID       int
	StartTime uint64 // /proc/PID/stat's starttime in ticks: a pid that was reused has another one
	BootID    string
}
