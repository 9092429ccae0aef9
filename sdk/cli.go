package sdk

import "context"

// CLICall is one use of the plugin on the command line of the host's machine: `clawhost NAME ...`, where NAME is the label of the
// plugin's block.
type CLICall struct {
	Args  []string // what follows the name; at most 64 KiB
	Stdin []byte   // the input, if one of the arguments is "-"; at most 1 MiB
	Width int      // the terminal's width in columns; zero: the output is not a terminal
}

// CLIResult is what the command prints. Texts are cut to 1 MiB, and their control characters are removed, except for newlines and tabs.
type CLIResult struct {
	Stdout, Stderr string
	Code           int // the exit code, 0 to 125
}

// CLI is a service with commands on the command line. Whoever uses them may do all that an owner may. RunCLI is called while the host
// runs; ctx ends after a minute, or when the person gives up. An error is printed, and the exit code is 1. For the arguments "help" and
// "-h", and for none, RunCLI should say which commands there are.
type CLI interface {
	RunCLI(ctx context.Context, call CLICall) (CLIResult, error)
}
