package exchange

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// work is a turn's reasoning and tool uses.
type work struct {
	open     []openTool // the running tools, oldest first
	used     []agent.ToolUse
	uses     agent.Uses
	thoughts strings.Builder
}

// openTool is a running tool.
type openTool struct {
	id  string
	use agent.ToolUse
	at  int // its index in work.used, or -1
}

// running reports whether a tool runs.
func (w *work) running() bool { return len(w.open) > 0 }

// add adds a block of the model, and reports whether it starts a tool.
func (w *work) add(b *protocol.Block) bool {
	switch {
	case b.Type == "tool_use" && b.ID != "":
		tool := openTool{id: b.ID, use: agent.ToolUse{Name: b.Name, Summary: summary(b.Input)}, at: -1}
		if len(w.used) < agent.MaxTools {
			tool.at = len(w.used)
			w.used = append(w.used, tool.use)
		}
		w.open = append(w.open, tool)
		return true
	case b.Type == "thinking" && strings.TrimSpace(b.Thinking) != "" && w.thoughts.Len() < agent.MaxReasoning:
		if w.thoughts.Len() > 0 {
			w.thoughts.WriteString("\n\n")
		}
		w.thoughts.WriteString(strings.TrimSpace(b.Thinking))
	}
	return false
}

// deny notes that a tool that was to run is not allowed.
func (w *work) deny(id string) {
	for i := range w.open {
		if w.open[i].id == id {
			w.open[i].use.Denied = true
		}
	}
}

// ended handles a block of the user's side. If it is a tool's result, it returns the tool use.
func (w *work) ended(b *protocol.Block) (agent.ToolUse, bool) {
	i := slices.IndexFunc(w.open, func(tool openTool) bool { return tool.id == b.ToolUseID })
	if i < 0 {
		return agent.ToolUse{}, false
	}
	tool := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	tool.use.Failed, tool.use.Output = b.IsError, output(b.Content)
	tool.use.Denied = tool.use.Denied && b.IsError
	w.count(tool.use)
	if tool.at >= 0 {
		w.used[tool.at] = tool.use
	}
	return tool.use, true
}

// exited is how the result of a command begins that was run and has failed.
const exited = "Exit code "

// count counts an ended use.
func (w *work) count(use agent.ToolUse) {
	switch name := use.Name; {
	case name == "Bash" && (!use.Failed || strings.HasPrefix(use.Output, exited)):
		w.uses.Commands++
	case use.Failed:
	case name == "WebFetch":
		w.uses.Pages++
	case name == "WebSearch":
		w.uses.Searches++
	case delegating[name]:
		w.uses.Subagents++
	}
}

// report adds the work to a result, within its bounds.
func (w *work) report(r *agent.Result) {
	r.Uses.Join(w.uses)
	if space := agent.MaxTools - len(r.Tools); space > 0 {
		r.Tools = append(r.Tools, w.used[:min(space, len(w.used))]...)
	}
	if w.thoughts.Len() == 0 || len(r.Reasoning) >= agent.MaxReasoning {
		return
	}
	if r.Reasoning != "" {
		r.Reasoning += "\n\n"
	}
	r.Reasoning += w.thoughts.String()
	if len(r.Reasoning) > agent.MaxReasoning {
		r.Reasoning = strings.ToValidUTF8(r.Reasoning[:agent.MaxReasoning], "")
	}
}

// output is the beginning of a tool's result.
func output(c protocol.Content) string {
	var texts []string
	for _, b := range c {
		if b.Type == "text" && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	text := strings.Join(texts, "\n")
	if most := agent.MaxOutput * utf8.UTFMax; len(text) > most {
		text = text[:most]
	}
	runes := []rune(strings.TrimSpace(strings.ToValidUTF8(text, "")))
	if len(runes) > agent.MaxOutput {
		runes = append(runes[:agent.MaxOutput-1], '…')
	}
	return string(runes)
}

// summaryFields are the fields that describe a tool's input best, the best first.
var summaryFields = []string{"command", "file_path", "notebook_path", "pattern", "query", "url", "path", "description", "prompt", "skill"}

// summary describes a tool's input in one line.
func summary(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range summaryFields {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && strings.TrimSpace(text) != "" {
			return oneLine(text)
		}
	}
	return ""
}

// oneLine makes a line of at most agent.MaxSummary characters: line breaks and invisible characters become spaces.
func oneLine(text string) string {
	const looked = 2 << 10 // bytes
	if len(text) > looked {
		text = text[:looked]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, ""))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > agent.MaxSummary {
		runes = append(runes[:agent.MaxSummary-1], '…')
	}
	return string(runes)
}
