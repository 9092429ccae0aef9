// Package programtest writes the programs that tests run.
package programtest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program that the test, or what it tests, runs at once. While its file is open for writing no other goroutine starts a
// process: that would inherit the file for a moment, in which the system refuses to run it ("text file busy").
func Write(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
