package cli

// Origin is what a session starts from.
type Origin int

// The origins of a session.
const (
	Fresh   Origin = iota
	Resumed        // its own transcript
	Forked         // a copy of another session's
)
