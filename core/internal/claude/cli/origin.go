package cli

// Origin is what a session is begun from.
type Origin int

// What a session may be begun from.
const (
	Fresh   Origin = iota
	Resumed        // its own transcript
	Forked         // a copy of another session's
)
