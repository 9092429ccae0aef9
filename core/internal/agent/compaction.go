package agent

// Compaction is when Claude Code compacts a conversation by itself, as far as it was told.
type Compaction struct {
	Window  int64   // tokens that count as the end of a larger window; zero: the model's own
	Percent float64 // of the window without the space for an answer; zero: none
	Off     bool    // it does not: a conversation ends with its window
}

// answerSpace is what Claude Code keeps of a window for an answer, in tokens, before it takes a percentage of the rest:
// measured with 2.1.330.
const answerSpace = 20_000

// At returns the tokens at which a conversation is compacted. Reserve is how many tokens before the end of the window that is.
func (c Compaction) At(window, reserve int64) int64 {
	if c.Off {
		return window - reserve
	}
	if c.Window > 0 {
		window = min(window, c.Window)
	}
	at := window - reserve
	if c.Percent > 0 {
		at = min(at, int64(float64(window-answerSpace)*c.Percent/100))
	}
	return at
}
