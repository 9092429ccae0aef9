package domain

import "time"

// PlanWindow is a limit of the plan of Claude's login.
type PlanWindow struct {
	Name     string    // what it limits, in words
	Used     float64   // percent
	ResetsAt time.Time // zero: not known
}
