// Package frontmatter reads the YAML at the beginning of a Markdown file that anybody may have written.
package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Limits of a front matter. The parser takes time in proportion to the square of the number of keys.
const (
	maxBytes = 16 << 10
	maxNodes = 500 // keys, values and items
	maxDepth = 20
)

// ErrNone is returned for a file that does not begin with a front matter.
var ErrNone = errors.New("it does not begin with a front matter between two lines ---")

var (
	errLong = fmt.Errorf("its front matter is longer than %d KiB", maxBytes>>10)
	errMany = fmt.Errorf("its front matter has more than %d keys and values", maxNodes)
)

// Read decodes the YAML between the first line of a file, which must be ---, and the next such line, as [yaml.Load] does. It
// returns the rest of the file, with CRLF replaced by LF. The front matter may have at most 16 KiB and 500 nodes. If there is
// none, the error is [ErrNone].
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
		return nil // the parser would return an error
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

// empty reports whether a source has only comments and blank lines.
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
