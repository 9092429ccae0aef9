package main

import (
	"fmt"
	"slices"
	"time"
)

// sample is many measurements.
type sample []time.Duration

// quantile is the value that a share of the sample does not exceed.
func (s sample) quantile(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func (s sample) median() time.Duration { return s.quantile(0.5) }

// median is the middle of some values.
func median[T int | float64 | time.Duration](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// line prints a figure.
func line(name, value string) { fmt.Printf("  %-48s %s\n", name, value) }

// judged prints a figure that has a target.
func judged(name, value, target string, met bool) {
	verdict := "met"
	if !met {
		verdict = "MISSED"
	}
	fmt.Printf("  %-48s %-30s target %s: %s\n", name, value, target, verdict)
}
