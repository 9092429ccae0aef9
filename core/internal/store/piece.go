package store

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

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
