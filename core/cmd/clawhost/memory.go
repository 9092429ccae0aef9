package main

import (
	"cmp"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// memoryRows are the rows of a status about the memory of claude's processes, and why the last ones were ended.
func memoryRows(c admin.Claude) (rows [][]string) {
	if c.MachineMemory > 0 {
		line := fmt.Sprintf("claude uses %s", megabytes(c.Memory))
		if c.MaxMemory > 0 {
			line += fmt.Sprintf(" of at most %s", megabytes(c.MaxMemory))
		}
		rows = append(rows, []string{"memory", fmt.Sprintf("%s; %s of %s are available", line, megabytes(c.AvailableMemory), megabytes(c.MachineMemory))})
	}
	for _, p := range c.Parked {
		rows = append(rows, []string{"parked claude", fmt.Sprintf("%s %s: %s", cmp.Or(p.Session, "no session"), since(p.At), parked(p.Why))})
	}
	return rows
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MB", bytes>>20) }

// parked says why an idle process was ended.
func parked(why string) string {
	said := map[claude.Reason]string{
		claude.Unused:     "it was not used",
		claude.Shortage:   "the machine's memory was short",
		claude.OverLimit:  "the processes used more than claude.max_memory",
		claude.Grown:      "it had grown beyond claude.recycle_at",
		claude.Needed:     "another turn needed its place",
		claude.Exhausted:  "another one could not be started",
		claude.Replaced:   "it could not run the next turn",
		claude.Superseded: "its conversation is over",
		claude.Elsewhere:  "another program opens its session",
		claude.Tasks:      "it went on after its turn",
		claude.Closing:    "the host shut down",
	}
	return cmp.Or(said[claude.Reason(why)], why)
}
