package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Approvals configures who is asked what Claude asks, besides the chat of its turn.
type Approvals struct {
	// To lists who is asked in their direct chats, in order: persons as channel:user, or sets of them. Empty (default): the owners
	// one after another, if nobody in the chat of the turn may answer.
	To            []string
	EscalateAfter time.Duration // until the next of them is asked too; default 2 minutes; zero: all are asked at once
}

// The sets in Approvals.To.
const (
	ToOwners    = "owners"
	ToApprovers = "approvers" // those of the access blocks
)

// mostAsked limits the entries of Approvals.To.
const mostAsked = 16

func (a *Approvals) block() block {
	return block{path: "approvals", attrs: []attr{
		{"to", func(v value) {
			everyOne(&a.To, value.asked)(v)
			if len(a.To) > mostAsked {
				v.refuse("must not have more than %d entries", mostAsked)
			}
		}},
		{"escalate_after", duration(&a.EscalateAfter, 0)},
	}}
}

// asked parses who is asked: a set, or a person.
func (v value) asked() (string, bool) {
	s, ok := v.text()
	if !ok || s == ToOwners || s == ToApprovers {
		return s, ok
	}
	if !strings.Contains(s, ":") {
		v.refuse(`must have "owners", "approvers", or people as "channel:user", such as "telegram:123"`)
		return "", false
	}
	return v.person()
}

// checkApprovals refuses people who may not answer.
func (d *decoder) checkApprovals(c *Config, body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		given := b.Body.Attributes["to"]
		if b.Type != "approvals" || given == nil {
			continue
		}
		for _, entry := range c.Approvals.To {
			if strings.Contains(entry, ":") && !c.Decides(entry) {
				d.report(given.Expr.Range(), "Unsuitable value", fmt.Sprintf("approvals.to names %q, who may not answer. Add them to access.approvers.", entry))
			}
		}
	}
}

// Decides reports whether a person, as channel:user, may decide what Claude does for anyone.
func (c *Config) Decides(person string) bool {
	channel, _, _ := strings.Cut(person, ":")
	access := c.For(channel).Access
	return slices.Contains(access.Owners, person) || slices.Contains(access.Approvers, person)
}

// Identity returns the name that identity_links give a person; one that they do not name is their own.
func (c *Config) Identity(person string) string {
	channel, _, _ := strings.Cut(person, ":")
	for name, users := range c.For(channel).Session.IdentityLinks {
		if slices.Contains(users, person) {
			return name
		}
	}
	return person
}

// Asked returns the people whom an entry of Approvals.To stands for, as channel:user.
func (c *Config) Asked(entry string) []string {
	var list []string
	switch entry {
	case ToOwners:
		list = slices.Clone(c.Access.Owners)
	case ToApprovers:
		list = slices.Clone(c.Access.Approvers)
		for _, p := range c.Plugins {
			list = append(list, c.For(p.Label).Access.Approvers...)
		}
	default:
		list = []string{entry}
	}
	return slices.DeleteFunc(list, func(person string) bool { return !c.Decides(person) })
}
