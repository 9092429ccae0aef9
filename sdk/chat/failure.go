package chat

import "time"

// Reason is the reason for a network's refusal.
type Reason int

// The reasons.
const (
	Temporary     Reason = iota + 1 // the network failed; try again
	RateLimited                     // too many calls; try again later
	NotConnected                    // the channel has no connection at the moment
	ChatNotFound                    // there is no such chat, or the account is not in it
	Forbidden                       // the account may not write there
	TooLong                         // the text is longer than the network takes
	MediaRejected                   // the network does not take a file; the host sends the text without files
	TargetGone                      // the message to edit, delete, react or reply to is gone
	Invalid                         // anything else that would fail again
)

// String returns the reason for the operator to read.
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

// Retryable reports whether the same message may succeed later.
func (r Reason) Retryable() bool {
	switch r {
	case Temporary, RateLimited, NotConnected:
		return true
	default:
		return false
	}
}

// Failure is the error of a message, an edit, a deletion, a reaction or a typing signal that a network refused. Channels
// return it from their methods; any other error counts as [Temporary] with MaybeDelivered set.
type Failure struct {
	Reason Reason
	// MaybeDelivered says that the message may have reached the chat in spite of the error.
	MaybeDelivered bool
	RetryAfter     time.Duration // zero: the host decides
	Err            error         // contains no secret; may be nil
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

// FileError is the error of a file that could not be fetched.
type FileError struct {
	// Problem says why the file is permanently unavailable, as [Media].Problem. If it is empty, a retry may succeed.
	Problem    string
	RetryAfter time.Duration // the wait that the network asks for; zero: the host decides
	// NoSpace says that this machine is out of disk space, file descriptors or memory: the host waits until that is over.
	// The sdk sets it from Err.
	NoSpace bool
	Err     error // for the operator; contains no secret; may be nil
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
