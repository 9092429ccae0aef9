package config

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The summaries of what [Config.Check] finds.
const (
	MissingProgram = "Missing program" // claude
	UnusableFolder = "Unusable folder" // of the state
)

// Check returns what a valid file asks for and this machine does not have: a folder for the state, and the program claude unless
// demo, with which no real one runs. The error is a [Problems].
func (c *Config) Check(demo bool) error {
	var found Problems
	if err := writable(c.StateDir); err != nil {
		found = append(found, c.NoState(err))
	}
	for i, a := range c.AllAgents() {
		if _, err := exec.LookPath(a.Claude.Command); demo || err == nil || i > 0 && a.Claude.Command == c.Agent.Claude.Command {
			continue
		}
		found = append(found, c.problemAt(a.attribute(c.body, "claude", "command"), MissingProgram,
			fmt.Sprintf("%s: there is no program %q here. Install Claude Code, or write the program's path.", a.title("claude", "command"), a.Claude.Command)))
	}
	return found.err()
}

// NoState returns the problem of a state folder that cannot be made or written.
func (c *Config) NoState(err error) Problem {
	return c.Place("state_dir", UnusableFolder,
		fmt.Sprintf("state_dir: the folder %s cannot be made or written: %s. Choose another one, or let this user write there.", c.StateDir, cause(err)))
}

// Place returns a problem at an argument of the top level, such as "state_dir", or of one of its blocks, such as "admin.listen". If
// the file does not have the argument, the problem is about the file as a whole.
func (c *Config) Place(name, summary, detail string) Problem {
	block, last := undotted(name)
	if block == "" {
		return c.problemAt(c.body.Attributes[last], summary, detail)
	}
	return c.problemAt(attribute(c.body, block, last), summary, detail)
}

func (c *Config) problemAt(a *hclsyntax.Attribute, summary, detail string) Problem {
	return c.source.problem(rangeOf(a), summary, detail)
}

// writable returns why a folder, which may not exist yet, cannot be made or written.
func writable(folder string) error {
	for {
		_, err := os.Stat(folder)
		parent := filepath.Dir(folder)
		if !errors.Is(err, os.ErrNotExist) || parent == folder {
			break
		}
		folder = parent
	}
	probe, err := os.MkdirTemp(folder, ".clawhost-*")
	if err != nil {
		return err
	}
	return os.Remove(probe)
}
