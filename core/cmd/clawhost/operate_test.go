package main

import "testing"

// The name of a stranger who asks to be let in stands on the operator's terminal.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Änne O'Neil 😀":         "Änne O'Neil 😀",
		"\x1b[2Jgone\r\n\tnext": " [2Jgone   next",
		"\u009b2Jgone\x7f":      " 2Jgone ",
		"\u202ecod.exe":         " cod.exe",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
