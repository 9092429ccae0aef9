package cli

// Weight is what a process holds, in bytes.
type Weight struct {
	Own   int64 // by itself, with its share of what it shares with others
	Below int64 // the processes below it: its tools
}

// All is what the process and its tools hold.
func (w Weight) All() int64 { return w.Own + w.Below }
