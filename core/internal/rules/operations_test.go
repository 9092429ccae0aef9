package rules_test

import (
	"regexp"
	"strings"
	"testing"
)

// The lines of the log that docs/operations.md explains are lines that the code writes.
func TestExplainedLogLinesExist(t *testing.T) {
	t.Parallel()
	const page = "docs/operations.md"
	_, section, _ := strings.Cut(readPage(t, page), "\n## Logs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
		for _, line := range span.FindAllStringSubmatch(row[1], -1) {
			explained[strings.TrimSuffix(line[1], " …")] = false
		}
	}
	if len(explained) < 30 {
		t.Fatalf("only %d lines were seen", len(explained))
	}
	goFiles(t, func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for line := range explained {
			explained[line] = explained[line] || strings.Contains(string(source), line)
		}
	})
	for line, exists := range explained {
		if !exists {
			t.Errorf("%s explains the log line %q, which no code writes", page, line)
		}
	}
}
