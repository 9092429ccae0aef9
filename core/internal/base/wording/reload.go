package wording

import (
	"fmt"
	"strings"
)

// Answers of /reload and /config.
const (
	// ConfigUnchanged answers /reload if the file sets what it did before.
	ConfigUnchanged = "Nothing in the config has changed."
	// ConfigStays answers /reload and /config set where the host cannot read its config again.
	ConfigStays = "I cannot read the config again here."
	// ConfigHow explains the arguments of /config.
	ConfigHow = "Write `/config set NAME VALUE`, such as `/config set access.dm open`, or `/config unset NAME`."
)

// maxConfigLines bounds the changes that an answer lists.
const maxConfigLines = 20

// ConfigChanged says what a reload has changed: a line for each change, the plugins that restart, and what is set and has no effect.
func ConfigChanged(changes, plugins, misfits []string) string {
	var b strings.Builder
	switch {
	case len(changes) == 0:
		b.WriteString(ConfigUnchanged)
	case len(changes) == 1:
		b.WriteString("I applied one change:\n" + bullets(changes))
	default:
		fmt.Fprintf(&b, "I applied %d changes:\n%s", len(changes), bullets(changes))
	}
	if len(plugins) > 0 {
		fmt.Fprintf(&b, "\n\nPlugins that start, restart or end for that: %s.", strings.Join(plugins, ", "))
	}
	if len(misfits) > 0 {
		b.WriteString("\n\nSet by `/config set`, and without effect, because it does not fit the config:\n" + bullets(misfits))
	}
	return b.String()
}

// bullets is a list of lines, each as code; of many only the first.
func bullets(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i == maxConfigLines {
			fmt.Fprintf(&b, "\n- and %d more", len(lines)-i)
			break
		}
		b.WriteString("\n- " + Code(line))
	}
	return b.String()
}

// ConfigRefused explains why the config stays as it is.
func ConfigRefused(why error) string {
	return "I changed nothing:\n\n" + block(why.Error())
}

// NotSet answers /config unset for what was not set.
func NotSet(name string) string {
	return fmt.Sprintf("%s was not set by `/config set`. `/config` lists what was.", Code(name))
}
