package main

import (
	"os"
	"strings"
	"testing"
)

// TestTheDocsShowThisCode keeps the Go code of the page and this folder the same: the first block is main.go, the others
// are parts of the tests.
func TestTheDocsShowThisCode(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	blocks := strings.Split(read("../../docs/writing-a-channel.md"), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of Go code, want 2", len(blocks))
	}
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	if blocks[0] != read("main.go") {
		t.Error("the page's first block is not main.go any more")
	}
	if !strings.Contains(read("main_test.go"), blocks[1]) {
		t.Error("the page's second block is not in main_test.go any more")
	}
}
