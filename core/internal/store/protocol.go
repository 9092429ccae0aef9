// Package store keeps everything that must survive a crash: the inbox and its lanes, runs, sessions, transcripts, the
// outbox, pairing, plugin state. Its API is the steps of one protocol, each of them one transaction; it is the only
// package with SQL.
//
// A message is accepted into a lane, the lane's head is claimed as a run, the run is completed together with the pieces
// of its answer, and each piece is claimed, sent and marked delivered. A step that a crash cut off is found again by
// Reclaim. A run's id is its fencing token: a step of a run that is no longer its lane's returns [ErrFenced].
package store

import "errors"

// ErrFenced is returned to a run that has lost its lane: it must stop and drop its result.
var ErrFenced = errors.New("the run has lost its lane")

// ErrLaneFull is returned by Accept for a lane with too many waiting messages.
var ErrLaneFull = errors.New("the lane is full")

// ErrNotFound is returned for a row that is not there.
var ErrNotFound = errors.New("not found")

// ErrNotYours is returned by Withdraw for a message that who asks may not drop.
var ErrNotYours = errors.New("not yours")

// ErrStateFull is returned by PutState when an instance keeps as much as it may.
var ErrStateFull = errors.New("the state is full: an instance keeps at most 10,000 keys and 64 MiB of values")

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
