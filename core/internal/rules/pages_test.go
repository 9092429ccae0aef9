package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	markup  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// row is a line of a table.
type row struct {
	line  int
	cells []string
}

// readPage returns the text of a file of the repository.
func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows are the lines of the tables in a text, with their headings.
func rows(text string) []row {
	var found []row
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		line = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), `\|`, "\x00")
		cells := strings.Split(line, "|")
		for j, cell := range cells {
			cells[j] = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))
		}
		found = append(found, row{i + 1, cells})
	}
	return found
}

// anchors are the names that links may call the headings and the points of a page by.
func anchors(text string) []string {
	var names []string
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.ReplaceAll(markup.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	for _, found := range anchor.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// broken links of a page are those that lead to no file of the repository, or to no heading of a page.
func brokenLinks(path, text string, read func(path string) (string, error)) (broken []string) {
	for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		if strings.Contains(found[1], "://") {
			continue
		}
		file, name, _ := strings.Cut(found[1], "#")
		to := filepath.Join(filepath.Dir(path), file)
		if file == "" {
			to = path
		}
		target, err := read(to)
		if err != nil || name != "" && !slices.Contains(anchors(target), name) {
			broken = append(broken, found[1])
		}
	}
	return broken
}

// Each link of each page leads somewhere, and each page of docs is reached from the README.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	files(t, []string{".md"}, func(path string, text []byte) { pages[path] = string(text) })
	read := func(path string) (string, error) {
		if text, known := pages[path]; known {
			return text, nil
		}
		_, err := os.Stat(filepath.Join(root, path))
		return "", err
	}
	for path, text := range pages {
		for _, to := range brokenLinks(path, text, read) {
			t.Errorf("%s: the link %s leads nowhere", path, to)
		}
		if strings.HasPrefix(path, "docs/") && !strings.Contains(pages["README.md"], "]("+path) {
			t.Errorf("README.md does not lead to %s", path)
		}
	}
}

// The reading of links itself, so that a hole in it is seen while all of them happen to lead somewhere.
func TestBrokenLinksAreFound(t *testing.T) {
	t.Parallel()
	read := func(path string) (string, error) {
		if path == "docs/b.md" {
			return "# One `two`, three\n- <a id=\"point\"></a>x\n```sh\n# no heading\n```\n", nil
		}
		return "", fs.ErrNotExist
	}
	text := "[a](b.md) [b](b.md#one-two-three) [h](b.md#point) [c](https://example.com/x) [d](b.md#no-heading) [e](c.md) [f](#here)\n```\n[g](d.md)\n```\n"
	if got := brokenLinks("docs/a.md", text, read); !slices.Equal(got, []string{"b.md#no-heading", "c.md", "#here"}) {
		t.Errorf("broken links = %q", got)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	if got := rows("x\n| a | `b\\|c` | |\n|---|---|---|\n"); len(got) != 1 || got[0].line != 2 || !slices.Equal(got[0].cells, []string{"a", "`b|c`", ""}) {
		t.Errorf("rows = %v", got)
	}
}
