package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Limits of the tool manual.
const (
	maxSections = 5
	maxWhole    = 3 << 10  // bytes of a section that is returned whole; of a longer one, the parts with a word of the query
	maxManual   = 16 << 10 // bytes of a result
	maxWords    = 16       // words of a query
)

// manualTool returns the tool that searches the host's documentation.
func (s *Server) manualTool() ownTool {
	return ownTool{
		spec: chat.ToolSpec{
			Name: "manual",
			Description: "The documentation of this host, clawhost: every name of its config file, commands, behaviour, operation, security. " +
				"Look here before you explain how the host works or is configured.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{` +
				`"about":{"type":"string","description":"A name such as reply.stream or /queue, or a few English words. Left out: the table of contents."}` +
				`},"additionalProperties":false}`),
		},
		call: s.lookUp,
	}
}

// section is the part of a page below one heading.
type section struct {
	page, heading string
	lines         []string
	hits          int
}

func (s *Server) lookUp(_ context.Context, _ *Turn, arguments json.RawMessage, _ string) (string, error) {
	var in struct {
		About string `json:"about"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	sections, err := readSections(s.options.Manual)
	if err != nil {
		return "", err
	}
	words := strings.FieldsFunc(strings.ToLower(in.About), func(r rune) bool { return strings.ContainsRune(" \t\r\n`\"',;?!()", r) })
	if len(words) == 0 {
		return contents(sections), nil
	}
	words = words[:min(len(words), maxWords)]
	for i := range sections {
		sections[i].hits = sections[i].count(words)
	}
	slices.SortStableFunc(sections, func(a, b section) int { return cmp.Compare(b.hits, a.hits) })
	var b strings.Builder
	for _, found := range sections[:min(len(sections), maxSections)] {
		if found.hits > 0 {
			b.WriteString(found.about(words))
		}
	}
	if b.Len() == 0 {
		return "", Refusal("Nothing in the manual has these words. Try others, or call it without any for the table of contents.")
	}
	return wire.Cut(b.String(), maxManual), nil
}

// readSections splits the pages at their headings.
func readSections(pages fs.FS) (list []section, err error) {
	err = fs.WalkDir(pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(pages, name)
		if err != nil {
			return err
		}
		fenced := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if heading, found := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); found && strings.HasPrefix(line, "#") && !fenced {
				list = append(list, section{page: name, heading: heading})
			} else if n := len(list); n > 0 {
				list[n-1].lines = append(list[n-1].lines, line)
			}
		}
		return nil
	})
	return list, err
}

// contents lists the headings of the pages.
func contents(sections []section) string {
	var b strings.Builder
	page := ""
	for _, s := range sections {
		if s.page != page {
			page = s.page
			fmt.Fprintf(&b, "%s: %s\n", page, s.heading)
			continue
		}
		fmt.Fprintf(&b, "- %s\n", s.heading)
	}
	return wire.Cut(b.String(), maxManual)
}

// count rates how well a section fits. Each word counts once: most as a name in code at the beginning of a row, less in the
// heading, least in the text.
func (s section) count(words []string) (hits int) {
	text := strings.ToLower(strings.Join(s.lines, "\n"))
	for _, word := range words {
		switch {
		case strings.Contains(text, "| `"+word+"`"):
			hits += 10
		case strings.Contains(strings.ToLower(s.heading), word):
			hits += 5
		case strings.Contains(text, word):
			hits++
		}
	}
	return hits
}

// about returns the section; of a long one, its first paragraph and the paragraphs, rows and points with one of the words.
func (s section) about(words []string) string {
	text := strings.Join(s.lines, "\n")
	if len(text) > maxWhole {
		var kept []string
		for i, block := range blocks(s.lines) {
			lower := strings.ToLower(block)
			if i == 0 || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) }) {
				kept = append(kept, block)
			}
		}
		text = strings.Join(kept, "\n")
	}
	return fmt.Sprintf("# %s (%s)\n\n%s\n\n", s.heading, s.page, strings.TrimSpace(wire.Cut(text, maxManual/2)))
}

// blocks joins the lines of each paragraph and point. Each row of a table is a block.
func blocks(lines []string) (list []string) {
	begins := true
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
			begins = true
			continue
		case begins, strings.HasPrefix(line, "|"), strings.HasPrefix(line, "- "):
			list = append(list, line)
		default:
			list[len(list)-1] += "\n" + line
		}
		begins = false
	}
	return list
}
