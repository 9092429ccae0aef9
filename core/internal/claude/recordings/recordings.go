// Package recordings contains output and transcripts of the real CLI against a scripted Messages API, for tests.
package recordings

import (
	"bytes"
	"embed"
	"path"
	"strings"
	"testing"
)

// First is the id of the first written line, in recordings with ids.
const First = "11111111-0000-4000-8000-000000000001"

//go:embed streams transcripts
var files embed.FS

// Stream returns the lines of a recorded output.
func Stream(tb testing.TB, name string) [][]byte {
	tb.Helper()
	return bytes.Split(bytes.TrimSpace(read(tb, path.Join("streams", name+".jsonl"))), []byte("\n"))
}

// Transcript returns a recorded transcript.
func Transcript(tb testing.TB, name string) []byte {
	tb.Helper()
	return read(tb, path.Join("transcripts", name+".jsonl"))
}

// Streams returns the names of all recorded outputs.
func Streams(tb testing.TB) []string {
	tb.Helper()
	entries, err := files.ReadDir("streams")
	if err != nil || len(entries) == 0 {
		tb.Fatalf("no recorded streams: %v", err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".jsonl")
	}
	return names
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := files.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
