package service

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/docs"
)

// What a unit of a user's manager does not have: another user, the folders and the file of variables of a service of the system, its
// targets, and what takes privileges or a mount namespace, which would also keep the agent from its user's files.
var (
	systemOnly       = []string{"User", "EnvironmentFile", "StateDirectory", "StateDirectoryMode", "CapabilityBoundingSet", "RemoveIPC", "Wants", "After"}
	systemOnlyGroups = []string{"Protect", "Private"} // the first word of these lines
)

// written begins the first line of a unit that an installation wrote, before the sum of the rest.
const written = "# written by `clawhost service install`, which replaces it unless it was edited, and keeps drop-ins; sum: "

// unitText is the unit of the service. It is the shipped one, with the paths of this service and without what its manager does not support.
func (s *Service) unitText(program, config string) (string, error) {
	if strings.ContainsAny(program, `"'\`) {
		return "", fmt.Errorf("systemd starts no program whose path has quotes or a backslash, as %s", program)
	}
	for _, word := range []string{program, config, s.Path} {
		if strings.ContainsFunc(word, unicode.IsControl) {
			return "", fmt.Errorf("a unit cannot have the path %q: it has a control character", word)
		}
	}
	start := execWord(program) + " -config " + argument(config)
	replaced := map[string]string{"ExecStart": start, "ExecReload": start + " reload"}
	if s.PerUser {
		replaced["Environment"] = quoted("PATH=" + specifiers(s.Path))
		replaced["WantedBy"] = "default.target"
	}
	var text, comments strings.Builder
	for line := range strings.Lines(docs.Unit) {
		key, _, isSetting := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case strings.HasPrefix(line, "#"):
			comments.WriteString(line)
			continue
		case s.PerUser && isSetting && onlySystem(key): // its comment goes, too
		case isSetting && replaced[key] != "":
			fmt.Fprintf(&text, "%s%s=%s\n", &comments, key, replaced[key])
		default:
			text.WriteString(comments.String() + line)
		}
		comments.Reset()
	}
	return written + sum(text.String()) + "\n" + text.String(), nil
}

// onlySystem reports whether only a service of the system may have a line.
func onlySystem(key string) bool {
	return slices.Contains(systemOnly, key) ||
		slices.ContainsFunc(systemOnlyGroups, func(group string) bool { return strings.HasPrefix(key, group) })
}

// edited reports whether a person has changed a unit, or written it, so that it is not replaced.
func edited(text, wanted string) bool {
	if _, rest, _ := strings.Cut(wanted, "\n"); text == rest {
		return false
	}
	first, rest, _ := strings.Cut(text, "\n")
	return first != written+sum(rest)
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }

// startOf is the program that a unit starts, and the config file that it names there; empty: they are unknown.
func startOf(text string) (program, config string) {
	for line := range strings.Lines(text) {
		if start, is := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); is {
			program, rest, _ := strings.Cut(start, " -config ")
			return unquoted(program), unquoted(rest)
		}
	}
	return "", ""
}

// unquoted is the path that a word of a unit stands for; empty: it is none, or there are several words.
func unquoted(word string) string {
	if strings.HasPrefix(word, `"`) {
		text, err := strconv.Unquote(word)
		if err != nil {
			return ""
		}
		word = text
	} else if strings.ContainsAny(word, " \t") {
		return ""
	}
	if word = strings.NewReplacer("%%", "%", "$$", "$").Replace(word); !filepath.IsAbs(word) {
		return ""
	}
	return word
}

// execWord is the path of a program in a unit. systemd replaces no variables there.
func execWord(path string) string { return quoted(specifiers(path)) }

// argument is an argument of a command in a unit.
func argument(word string) string { return quoted(strings.ReplaceAll(specifiers(word), "$", "$$")) }

// specifiers returns a word in which systemd replaces nothing that begins with a percent sign.
func specifiers(word string) string { return strings.ReplaceAll(word, "%", "%%") }

// quoted is a word as one of several in a line of a unit.
func quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) && r != '$' }) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// differences are the lines that only one of two texts has, in their order.
func differences(was, becomes string) string {
	old, lines := strings.Split(strings.TrimSpace(was), "\n"), strings.Split(strings.TrimSpace(becomes), "\n")
	var list []string
	for _, line := range old {
		if !slices.Contains(lines, line) {
			list = append(list, "- "+line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(old, line) {
			list = append(list, "+ "+line)
		}
	}
	if len(list) == 0 {
		return "the order of its lines"
	}
	return strings.Join(list, "\n")
}
