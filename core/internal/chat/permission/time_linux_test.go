package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

// Whatever the model asks about, the question is made in a time that grows with its length.
func TestTimeOfHostileInputs(t *testing.T) {
	object := func(n int, field func(i int) string) string {
		var b strings.Builder
		b.WriteString(`{"command":"x"`)
		for i := 0; b.Len() < n-20; i++ {
			b.WriteString("," + field(i))
		}
		return b.String() + "}"
	}
	text := func(name, text string, n int) string {
		return `{"` + name + `":"` + strings.Repeat(text, max(n-20, 0)/len(text)) + `"}`
	}
	for name, of := range map[string]func(n int) string{
		"many fields":   func(n int) string { return object(n, func(i int) string { return fmt.Sprintf(`"f%d":1`, i) }) },
		"one field":     func(n int) string { return object(n, func(int) string { return `"a":1` }) },
		"nested":        func(n int) string { return `{"a":` + strings.Repeat("[", n/2-5) + strings.Repeat("]", n/2-5) + "}" },
		"open":          func(n int) string { return strings.Repeat(`{"a":`, n/5) },
		"escapes":       func(n int) string { return text("command", `\u202e`, n) },
		"invisible":     func(n int) string { return text("command", "\u200b", n) },
		"lines":         func(n int) string { return text("content", `\n`, n) },
		"backticks":     func(n int) string { return text("command", "`", n) },
		"number":        func(n int) string { return `{"a":` + strings.Repeat("1", n) + "}" },
		"list of texts": func(n int) string { return `{"a":[""` + strings.Repeat(`,""`, n/3) + "]}" },
		"bad UTF-8":     func(n int) string { return text("command", "\xff", n) },
	} {
		tool := "Bash"
		if name == "lines" {
			tool = "Write"
		}
		linear.Check(t, name, 256<<10, of, func(input string) {
			b := &body{}
			b.showInput(agent.Question{Tool: tool, Input: json.RawMessage(input)})
		})
	}
}
