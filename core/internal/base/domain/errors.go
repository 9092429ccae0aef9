package domain

import "errors"

// ErrFenced is returned to a run that has lost its lane: it must stop and discard its result.
var ErrFenced = errors.New("the run has lost its lane")

// ErrLaneFull is returned by Accept for a lane with too many waiting messages.
var ErrLaneFull = errors.New("the lane is full")

// ErrJobsFull is returned for a job that would be one too many of all, and ErrPersonJobsFull for one too many of its person.
var (
	ErrJobsFull       = errors.New("too many jobs run")
	ErrPersonJobsFull = errors.New("too many jobs of the person run")
)

// ErrOtherRequest is returned by Accept for an event that was accepted before with another text, where it must be the same.
var ErrOtherRequest = errors.New("the event was another request's")

// ErrNotFound is returned for a row that does not exist.
var ErrNotFound = errors.New("not found")

// ErrTooLong is returned for a text that has more parts than the message that it is to replace.
var ErrTooLong = errors.New("the text is longer than what it replaces")

// ErrHeld is returned by Next for a message that waits for another try and comes first already.
var ErrHeld = errors.New("the message is held")

// ErrNotYours is returned by Withdraw for a message that the caller may not drop.
var ErrNotYours = errors.New("not yours")

// ErrStateFull is returned by PutState and WakeAt when an instance has reached its limits.
var ErrStateFull = errors.New("the state is full: an instance may store at most 10,000 keys, 64 MiB of values and 10,000 wake-ups")

// ErrConflict is returned by PutState if the key has another revision.
var ErrConflict = errors.New("revision conflict")
