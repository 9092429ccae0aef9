//go:build !linux

package cli

// CanWeigh reports whether Weigh does.
const CanWeigh = false

// Weigh is told nothing here.
func Weigh([]ID) map[ID]Weight { return nil }

// MachineMemory is not told here.
func MachineMemory() int64 { return 0 }
