// Package frontmatter reads the YAML at the beginning of a Markdown file that anybody may have written.
package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds of a front matter. The time that the parser takes grows with the square of the keys.
const (
	maxBytes = 16 << 10
	maxNodes = 500 // keys, values and items
	maxDepth = 20
)

// ErrNone says that a file does not begin with a front matter.
var ErrNone = errors.New("it does not begin with a front matter, which stands between two lines ---")

var (
	errLong = fmt.Errorf("its front matter is longer than %d KiB", maxBytes>>10)
	errMany = fmt.Errorf("its front matter has more than %d keys and values", maxNodes)
)

// Read decodes the YAML between the first line of a file, which is ---, and the next such line, as [yaml.Load] does, and
// returns what follows. Lines end with LF in it.
func Read(file string, into any) (body string, err error) {
	text := strings.ReplaceAll(strings.TrimPrefix(file, "\ufeff"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return text, ErrNone
	}
	length := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return rest[length+len(line):], decode(rest[:length], into)
		}
		if length += len(line); length > maxBytes {
			return "", errLong
		}
	}
	return text, ErrNone
}

func decode(source string, into any) error {
	if empty(source) {
		return nil // which the parser takes for an error
	}
	var document yaml.Node
	err := yaml.Load([]byte(source), &document, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	switch {
	case err != nil:
	case !few(&document, new(int)):
		return errMany
	default:
		err = document.Load(into)
	}
	if err != nil {
		return fmt.Errorf("read front matter: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// empty reports whether there are only comments.
func empty(source string) bool {
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// few reports whether a node has few others below it.
func few(node *yaml.Node, count *int) bool {
	if *count++; *count > maxNodes {
		return false
	}
	for _, below := range node.Content {
		if !few(below, count) {
			return false
		}
	}
	return true
}
