package domain

// Extract is what a program made of a file or a page.
type Extract struct {
	Text    string
	Failure string // why there is no text, for the agent; empty: there is one, which may be empty
}
