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

	errAlias = errors.New("its front matter uses an alias, which is not read")
	errTwice = errors.New("its front matter has a key twice")
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
	if err == nil {
		if err := check(&document, new(int)); err != nil {
			return err
		}
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

// check refuses what takes long to decode: many nodes, those that count many times, and keys that repeat, of which the parser
// reports each pair.
func check(node *yaml.Node, count *int) error {
	if *count++; *count > maxNodes {
		return errMany
	}
	if node.Kind == yaml.AliasNode {
		return errAlias
	}
	keys := map[string]bool{}
	for i, below := range node.Content {
		if err := check(below, count); err != nil {
			return err
		}
		if node.Kind != yaml.MappingNode || i%2 != 0 || below.Kind != yaml.ScalarNode {
			continue
		}
		if keys[below.Value] {
			return errTwice
		}
		keys[below.Value] = true
	}
	return nil
}
