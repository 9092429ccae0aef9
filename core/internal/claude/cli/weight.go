package cli

// Scale measures the memory of processes.
type Scale struct{}

// Weight is the memory of a process, in bytes.
type Weight struct {
	Own   int64 // its own, with its share of shared pages
	Below int64 // its descendants: the tools
}

// All is the memory of the process and its tools.
func (w Weight) All() int64 { return w.Own + w.Below }
