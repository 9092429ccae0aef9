package wording

import (
	"fmt"
	"strings"
	"time"
)

// Answers of /bash.
const (
	BashOff   = "`/bash` is switched off. To switch it on, write `commands { bash = true }` into the config file and use `/restart`. Every owner can then run any command on this machine."
	BashUsage = "Which command? `/bash COMMAND` runs it in the workspace; `/stop` ends it."
)

// BashInterrupted answers a line of the shell that ran when the host ended.
func BashInterrupted(line string) string {
	return fmt.Sprintf("The host ended while %s ran, and the command with it. It is not run again, because it may have done a part of its work. Look first, then send it again.", Code(line))
}

// Output is a text that is shown as code, or sent as a file.
type Output struct {
	Text string
	Cut  bool // Text is only the end of it
	File int  // the size of the file with it, in bytes; zero: no file
}

// Bash is how a line of the shell ended.
type Bash struct {
	Output
	Code     int
	Took     time.Duration
	Stopped  bool
	TimedOut bool
}

// String answers /bash.
func (b Bash) String() string {
	var parts []string
	switch {
	case b.Stopped:
		parts = append(parts, fmt.Sprintf("The command was stopped after %s.", age(b.Took)))
	case b.TimedOut:
		parts = append(parts, fmt.Sprintf("The command was ended, because it took longer than %s.", age(b.Took)))
	case b.Code != 0:
		parts = append(parts, fmt.Sprintf("Exit code %d.", b.Code))
	}
	switch {
	case b.File > 0:
		parts = append(parts, fmt.Sprintf("The output (%s) is in the file.", size(b.File)))
	case b.Text == "" && len(parts) == 0:
		parts = append(parts, "Done, without output.")
	case b.Cut:
		parts = append(parts, "The end of the output:")
	}
	said := strings.Join(parts, " ")
	if b.Text == "" || b.File > 0 {
		return said
	}
	return strings.TrimLeft(said+"\n\n"+Fenced(b.Text), "\n")
}
