package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// a is so many letters that look random.
func a(n int) string { return strings.Repeat("aB3dE5fG7hJ9kL1mN", 1+n/17)[:n] }

func TestRedactAConversation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/redact/conversation.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := redacted(string(raw))
	const golden = "testdata/redact/conversation.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
