package chat_test

import (
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	const text = "xü🦀\xff" // what is no UTF-8 is read as one character
	for unit, want := range map[chat.Unit]int{chat.Bytes: 8, chat.Runes: 4, chat.UTF16: 5, 0: 8} {
		if got := unit.Length(text); got != want {
			t.Errorf("in unit %d the text is %d long, want %d", unit, got, want)
		}
		sum := 0
		for _, r := range "xü🦀" {
			sum += unit.Width(r)
		}
		if got := unit.Length("xü🦀"); got != sum {
			t.Errorf("in unit %d the text is %d long, and its characters %d", unit, got, sum)
		}
		for limit, fits := range map[int]bool{0: true, want - 1: false, want: true} {
			if got := (chat.TextLimit{Max: limit, Unit: unit}).Fits(text); got != fits {
				t.Errorf("%d of %d in unit %d fit: %t", want, limit, unit, got)
			}
		}
	}
}
