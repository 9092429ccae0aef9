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
	markup  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are the names that links may call the headings of a page by.
func anchors(text string) []string {
	var names []string
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.ReplaceAll(markup.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return names
}

// broken links of a page are those that lead to no file of the repository, or to no heading of a page.
func brokenLinks(path, text string, read func(path string) (string, error)) (broken []string) {
	for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		if strings.Contains(found[1], "://") {
			continue
		}
		file, anchor, _ := strings.Cut(found[1], "#")
		to := filepath.Join(filepath.Dir(path), file)
		if file == "" {
			to = path
		}
		target, err := read(to)
		if err != nil || anchor != "" && !slices.Contains(anchors(target), anchor) {
			broken = append(broken, found[1])
		}
	}
	return broken
}

// Each link of each page leads somewhere, and each page of docs is reached from the README.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin"):
			return filepath.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		path = strings.TrimPrefix(path, root+"/")
		pages[path] = readPage(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
			return "# One `two`, three\n```sh\n# no heading\n```\n", nil
		}
		return "", fs.ErrNotExist
	}
	text := "[a](b.md) [b](b.md#one-two-three) [c](https://example.com/x) [d](b.md#no-heading) [e](c.md) [f](#here)\n```\n[g](d.md)\n```\n"
	if got := brokenLinks("docs/a.md", text, read); !slices.Equal(got, []string{"b.md#no-heading", "c.md", "#here"}) {
		t.Errorf("broken links = %q", got)
	}
}
