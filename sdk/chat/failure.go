package chat

import "time"

// Reason is why a network refused.
type Reason int

// The reasons.
const (
	Temporary Reason = iota + 1 // try again
	RateLimited
	NotConnected
	ChatNotFound
	Forbidden
	TooLong
	MediaRejected
	TargetGone // the message to edit, delete, react or reply to
	Invalid
)

// String returns the reason as the operator reads it.
func (r Reason) String() string {
	switch r {
	case Temporary:
		return "temporary failure"
	case RateLimited:
		return "rate limited"
	case NotConnected:
		return "not connected"
	case ChatNotFound:
		return "chat not found"
	case Forbidden:
		return "forbidden"
	case TooLong:
		return "too long"
	case MediaRejected:
		return "media rejected"
	case TargetGone:
		return "target gone"
	case Invalid:
		return "invalid"
	default:
		return "unknown failure"
	}
}

// Retryable tells whether the same message may succeed later.
func (r Reason) Retryable() bool {
	switch r {
	case Temporary, RateLimited, NotConnected:
		return true
	default:
		return false
	}
}

// Failure is a network's refusal of a message, an edit, a deletion, a reaction or a typing signal. Channels return it
// from their methods; an error that is no *Failure counts as [Temporary] with MaybeDelivered set.
type Failure struct {
	Reason Reason
	// MaybeDelivered says that the message may have reached the chat all the same.
	MaybeDelivered bool
	RetryAfter     time.Duration // zero: the host decides
	Err            error         // holds no secret; may be nil
}

// Error returns the reason and what the network said.
func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Reason.String()
	}
	return f.Reason.String() + ": " + f.Err.Error()
}

// Unwrap returns the network's own error.
func (f *Failure) Unwrap() error { return f.Err }

// FileError is why a file could not be fetched.
type FileError struct {
	// Problem is why it can never be had, as [Media].Problem. Empty: another try may succeed.
	Problem    string
	RetryAfter time.Duration // what the network asks for before the next try; zero: the host decides
	// NoRoom says that this machine's disk is full, or that it has no descriptors or memory: the host waits until that is over. The
	// sdk finds it out by the Err.
	NoRoom bool
	Err    error // for the operator; holds no secret; may be nil
}

// Error returns what happened.
func (e *FileError) Error() string {
	text := "the file cannot be fetched now"
	if e.Problem != "" {
		text = "the file " + e.Problem
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }
