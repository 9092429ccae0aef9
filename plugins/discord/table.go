package main

import (
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Discord shows Markdown, but for tables: of one the bars are seen. So each becomes a block of code with straight columns.

// tables makes blocks of code of a text's tables. A text that would become too long for a message stays as it is.
func tables(text string) string {
	if !strings.Contains(text, "|") {
		return text
	}
	lines := strings.Split(text, "\n")
	var out []string
	fence := ""
	for i := 0; i < len(lines); i++ {
		if mark := fenceOf(lines[i]); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
		}
		rows := 0
		if fence == "" {
			rows = tableAt(lines[i:])
		}
		if rows == 0 {
			out = append(out, lines[i])
			continue
		}
		out = append(out, block(lines[i:i+rows])...)
		i += rows - 1
	}
	shown := strings.Join(out, "\n")
	if len(utf16.Encode([]rune(shown))) > maxText {
		return text
	}
	return shown
}

var fenceShape = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")

// fenceOf is the mark of a line that begins or ends a block of code; empty: it does not.
func fenceOf(line string) string {
	if found := fenceShape.FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// ruleShape is the line below a table's head.
var ruleShape = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// tableAt is how many lines a table has that begins with the first one; zero: none begins there.
func tableAt(lines []string) int {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || !strings.Contains(lines[1], "|") || !ruleShape.MatchString(lines[1]) ||
		len(cells(lines[0])) != len(cells(lines[1])) {
		return 0
	}
	rows := 2
	for rows < len(lines) && strings.Contains(lines[rows], "|") && fenceOf(lines[rows]) == "" {
		rows++
	}
	return rows
}

// cells are the texts of a row.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = strings.TrimSuffix(line, "|")
	}
	var list []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case line[i] == '|':
			list = append(list, bareCell(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	return append(list, bareCell(cell.String()))
}

// bareCell is a cell without marks that would be seen in code.
func bareCell(text string) string {
	return strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(text))
}

// block is a table as a block of code.
func block(lines []string) []string {
	rows := make([][]string, 0, len(lines)-1)
	var widths []int
	for i, line := range lines {
		if i == 1 {
			continue
		}
		row := cells(line)
		for n, cell := range row {
			if n == len(widths) {
				widths = append(widths, 0)
			}
			widths[n] = max(widths[n], utf8.RuneCountInString(cell))
		}
		rows = append(rows, row)
	}
	out := []string{"```"}
	for i, row := range rows {
		out = append(out, straight(row, widths, " "))
		if i == 0 {
			out = append(out, straight(make([]string, len(widths)), widths, "-"))
		}
	}
	return append(out, "```")
}

func straight(row []string, widths []int, fill string) string {
	var line strings.Builder
	for n, cell := range row {
		line.WriteString(cell + strings.Repeat(fill, widths[n]-utf8.RuneCountInString(cell)))
		if n < len(row)-1 {
			line.WriteString("  ")
		}
	}
	return strings.TrimRight(line.String(), " ")
}
