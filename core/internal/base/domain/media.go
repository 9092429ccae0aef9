package domain

// Extract is the text of a file or a page, as a program returned it.
type Extract struct {
	Text    string
	Failure string // why there is no text, for the agent; empty on success
}
