package config

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Warnings returns probable mistakes in a valid file, in the file's order. Root reports whether the host runs as root, demo whether
// no real claude runs.
func (c *Config) Warnings(root, demo bool) (list []string) {
	for _, p := range c.warnings {
		if !demo || p.Summary != missingClaude {
			list = append(list, p.String())
		}
	}
	for _, a := range c.AllAgents() {
		if root && !demo && a.Claude.PermissionMode == "bypassPermissions" && a.Claude.Env["IS_SANDBOX"] != "1" {
			list = append(list, a.title("claude", "permission_mode")+` is "bypassPermissions", which Claude Code refuses as root: no message can be `+
				"answered. Choose another mode, or run the host as a user of its own.")
		}
	}
	return list
}

const missingClaude = "Missing program"

// warn finds settings that are valid, but probably a mistake.
func (d *decoder) warn(c *Config, body *hclsyntax.Body) Problems {
	found := d.checkOverlaps(c, body)
	at := func(a *hclsyntax.Attribute) hcl.Range {
		if a == nil {
			return hcl.Range{}
		}
		return a.Expr.Range()
	}
	for i, a := range c.AllAgents() {
		if _, err := exec.LookPath(a.Claude.Command); err != nil && (i == 0 || a.Claude.Command != c.Agent.Claude.Command) {
			found = append(found, d.problem(at(a.attribute(body, "claude", "command")), missingClaude,
				fmt.Sprintf("%s: there is no program %q here. Install Claude Code, or write the program's path.",
					a.title("claude", "command"), a.Claude.Command)))
		}
		if a.TrustProject {
			found = append(found, d.problem(at(a.attribute(body, "agent", "trust_project")), "Trusted workspace",
				a.title("agent", "trust_project")+": whoever can write into the workspace can run programs as the host's user, redirect what is sent to Claude, and "+
					"silence questions, by Claude Code's hooks, settings and environment."))
		}
	}
	found = append(found, d.warnOfAgents(c, body)...)
	found = append(found, d.warnOfRoutes(c, body)...)
	if !slices.ContainsFunc(c.Plugins, func(p *Plugin) bool { return p.Enabled }) {
		found = append(found, Problem{File: d.name, Summary: "No plugin is enabled", Detail: "Nobody can talk to the agent."})
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
