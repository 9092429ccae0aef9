package agent

// Compaction says when Claude Code compacts a conversation by itself, according to what it was configured with.
type Compaction struct {
	Window  int64   // tokens that count as the window, if the model's is larger; zero: the model's own
	Percent float64 // percentage of the window, without the space for an answer, at which to compact at the latest; zero: none
	Off     bool    // it never compacts: a conversation ends with its window
}

// answerSpace is the number of tokens that Claude Code reserves for an answer before it takes a percentage of the rest of the
// window, as measured with version 2.1.330.
const answerSpace = 20_000

// At returns the number of tokens at which a conversation is compacted. Without Percent it is reserve tokens before the end of
// the window.
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
