// Claude-stub stands in for the claude CLI: it speaks its stream-json protocol and keeps its transcripts, but calls no
// model. The demo, the tests and the benchmarks run on it.
package main

import (
	"os"

	"github.com/clawhost/clawhost/core/internal/claude/stub"
)

func main() {
	os.Exit(stub.Run(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
