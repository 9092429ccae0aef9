package main

import (
	"errors"
	"fmt"

	"github.com/peterbourgon/ff/v3/ffcli"
)

// usageError is a command line that cannot be understood.
type usageError struct {
	why  string // empty: it was said
	line string // how the command is used
}

// Error implements error.
func (e *usageError) Error() string { return e.why }

// usage refuses a command line.
func usage(format string, args ...any) error { return &usageError{why: fmt.Sprintf(format, args...)} }

// withLine adds how a command is used to the error of one that was used wrongly.
func withLine(err error, line string) error {
	var wrong *usageError
	if errors.As(err, &wrong) {
		return &usageError{wrong.why, line}
	}
	return err
}

// unknownCommand refuses a command that does not exist, and names the one that may be meant. Without a parent it is one of clawhost's.
func unknownCommand(parent, typed string, there []*ffcli.Command) error {
	why := fmt.Sprintf("there is no command %q", typed)
	if parent != "" {
		why = fmt.Sprintf("%s has no command %q", parent, typed)
	}
	if meant := nearest(typed, there); meant != "" {
		why += fmt.Sprintf("; did you mean %q?", meant)
	}
	return &usageError{why: why}
}

// maxSlips is how many letters a mistyped command may be away from the one that is meant.
const maxSlips = 2

// nearest is the command that is the fewest slips away from what was typed; empty: none is near.
func nearest(typed string, there []*ffcli.Command) string {
	found, fewest := "", maxSlips+1
	for _, c := range there {
		if slips := distance(typed, c.Name); slips < fewest && slips < len(typed) {
			found, fewest = c.Name, slips
		}
	}
	return found
}

// distance is how many letters are to be added, removed or replaced to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // of the row above, one to the left
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
