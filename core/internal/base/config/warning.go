package config

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Warnings returns probable mistakes in a valid file, in the file's order. With demo set, a missing claude program is not
// one.
func (c *Config) Warnings(demo bool) Problems {
	if !demo {
		return c.warnings
	}
	return slices.DeleteFunc(slices.Clone(c.warnings), func(p Problem) bool { return p.Summary == missingClaude })
}

const missingClaude = "Missing program"

// warn finds settings that are valid but have no effect.
func (d *decoder) warn(c *Config, body *hclsyntax.Body) Problems {
	var found Problems
	at := func(a *hclsyntax.Attribute) hcl.Range {
		if a == nil {
			return hcl.Range{}
		}
		return a.Expr.Range()
	}
	if _, err := exec.LookPath(c.Claude.Command); err != nil {
		found = append(found, d.problem(at(attribute(body, "claude", "command")), missingClaude,
			fmt.Sprintf("claude.command: there is no program %q here. Install Claude Code, or write the program's path.",
				c.Claude.Command)))
	}
	if !slices.ContainsFunc(c.Plugins, func(p *Plugin) bool { return p.Enabled }) {
		found = append(found, Problem{File: d.name, Summary: "No plugin is enabled", Detail: "Nobody can talk to the agent."})
	}
	if c.Agent.TrustProject {
		found = append(found, d.problem(at(attribute(body, "agent", "trust_project")), "Trusted workspace",
			"agent.trust_project: whoever can write into the workspace can run programs as the host's user, redirect what is sent to Claude, and "+
				"silence questions, by Claude Code's hooks, settings and environment."))
	}
	if exposed(c.Admin.Listen) {
		found = append(found, d.problem(at(attribute(body, "admin", "listen")), "Open to the network",
			"admin.listen: other machines can reach this address, and the token crosses the network in the clear. Listen on 127.0.0.1 behind a proxy with TLS."))
	}
	for i, owner := range c.Access.Owners {
		if _, user, _ := strings.Cut(owner, ":"); strings.HasPrefix(user, "@") && !strings.Contains(user, ":") {
			place := locate(attribute(body, "access", "owners").Expr, []string{fmt.Sprint(i)})
			found = append(found, d.problem(place, "Name instead of an id",
				fmt.Sprintf("access.owners: %s is a name. People are known by their ids, which /whoami shows.", owner)))
		}
	}
	if found.err() == nil { // err has sorted them
		return nil
	}
	return found
}
