package main

import (
	"errors"
	"io"
	"os"
	"testing"
)

// TestKeysAfterAForm: a reader that the library leaves behind takes no key from the next form.
func TestKeysAfterAForm(t *testing.T) {
	t.Parallel()
	terminal, typist, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer typist.Close()
	first, second := &keys{File: terminal}, &keys{File: terminal}
	buffer := make([]byte, 10)
	for _, form := range []*keys{first, second} {
		if _, err := io.WriteString(typist, "y\r"); err != nil {
			t.Fatal(err)
		}
		if form == second {
			if n, err := first.Read(buffer); n != 0 || !errors.Is(err, io.EOF) {
				t.Fatalf("the reader of the ended form reads %q, %v; want the end", buffer[:n], err)
			}
		}
		if n, err := form.Read(buffer); string(buffer[:n]) != "y\r" || err != nil {
			t.Errorf("a form reads %q, %v; want %q", buffer[:n], err, "y\r")
		}
		form.ended.Store(true)
	}
}
