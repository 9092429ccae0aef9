//go:build !linux

package cli

// CanWeigh reports whether [Scale.Weigh] works on this system.
const CanWeigh = false

// Weigh is not supported here.
func (Scale) Weigh([]ID) map[ID]Weight { return nil }
