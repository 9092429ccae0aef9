package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// Warnings returns probable mistakes in a valid file, in the file's order. Root reports whether the host runs as root, demo whether
// no real claude runs.
func (c *Config) Warnings(root, demo bool) (list []string) {
	found := slices.Clone(c.warnings)
	for _, a := range c.AllAgents() {
		if root && !demo && a.Claude.PermissionMode == "bypassPermissions" && a.Claude.Env["IS_SANDBOX"] != "1" {
			found = append(found, c.problemAt(a.attribute(c.body, "claude", "permission_mode"), "Refused by Claude Code",
				a.title("claude", "permission_mode")+` is "bypassPermissions", which Claude Code refuses as root: no message can be `+
					"answered. Choose another mode, or run the host as a user of its own."))
		}
	}
	for _, p := range found.Sorted() {
		list = append(list, p.String())
	}
	return list
}

// Problems implements [health.Source]: the warnings, and why the file could not be applied when it was read last.
func (c *Current) Problems(context.Context) (list []health.Report) {
	if why := c.refused.Load(); why != nil {
		list = append(list, health.Report{Code: health.ConfigRefused, Detail: *why, Advice: wording.AdviceConfigRefused})
	}
	if warnings := c.Get().Warnings(c.root, c.demo); len(warnings) > 0 {
		list = append(list, health.Report{Code: health.ConfigWarning, Detail: strings.Join(warnings, "; "), Advice: wording.AdviceCheckConfig})
	}
	return list
}

// warn finds settings that are valid, but probably a mistake.
func (d *decoder) warn(c *Config, body *hclsyntax.Body) Problems {
	found := d.checkOverlaps(c, body)
	for _, a := range c.AllAgents() {
		if a.TrustProject {
			found = append(found, d.problem(rangeOf(a.attribute(body, "agent", "trust_project")), "Trusted workspace",
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
		found = append(found, d.problem(rangeOf(attribute(body, "admin", "listen")), "Open to the network",
			"admin.listen: other machines can reach this address, and the token crosses the network in the clear. Listen on 127.0.0.1 behind a proxy with TLS."))
	}
	for i, owner := range c.Access.Owners {
		if _, user, _ := strings.Cut(owner, ":"); strings.HasPrefix(user, "@") && !strings.Contains(user, ":") {
			place := locate(attribute(body, "access", "owners").Expr, []string{fmt.Sprint(i)})
			found = append(found, d.problem(place, "Name instead of an id",
				fmt.Sprintf("access.owners: %s is a name. People are known by their ids, which /whoami shows.", owner)))
		}
	}
	return found
}

// rangeOf returns the position of an attribute's value, or the zero range if the file does not have the attribute.
func rangeOf(a *hclsyntax.Attribute) hcl.Range {
	if a == nil {
		return hcl.Range{}
	}
	return a.Expr.Range()
}
