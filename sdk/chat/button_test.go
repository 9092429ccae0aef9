package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func TestButtonLimits(t *testing.T) {
	t.Parallel()
	limits := chat.ButtonLimits{Rows: 2, Columns: 2, DataBytes: 4}
	row := func(data ...string) (row []chat.Button) {
		for _, d := range data {
			row = append(row, chat.Button{Label: "l", Data: d})
		}
		return row
	}
	for _, tt := range []struct {
		buttons [][]chat.Button
		wrong   string
	}{
		{nil, ""},
		{[][]chat.Button{row("a", "b"), row("c", "dddd")}, ""},
		{[][]chat.Button{row("a"), row("b"), row("c")}, "3 rows"},
		{[][]chat.Button{row("a", "b", "c")}, "3 buttons in a row"},
		{[][]chat.Button{row("übel")}, "5 bytes"},
		{[][]chat.Button{row("")}, "no data"},
		{[][]chat.Button{{{Data: "a"}}}, "no label"},
		{[][]chat.Button{row("a"), row("a")}, "same data"},
	} {
		err := limits.Check(tt.buttons)
		if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%v: %v, want %q", tt.buttons, err, tt.wrong)
		}
		if err := (chat.ButtonLimits{}).Check(slices.Repeat(tt.buttons, 100)); err != nil {
			t.Errorf("a channel without buttons: %v", err)
		}
	}
}
