package command

import (
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// skills are the skills of an agent that no command hides, as commands that run as turns.
func (r *Registry) skills(agent string) []Command {
	var list []Command
	for _, s := range r.reachable(agent) {
		list = append(list, Command{
			Name: s.Name, Usage: "/" + s.Name + " [text]", Summary: s.Description, Group: wording.GroupSkills,
			MinAuthority: chat.Authorised, Menu: true, Turn: true,
		})
	}
	return list
}

// reachable are the skills of an agent whose names differ from all commands, and, apart from hyphens, from earlier skills.
func (r *Registry) reachable(label string) []agent.Skill {
	if r.host.Agents == nil {
		return nil
	}
	var list []agent.Skill
	taken := map[string]bool{}
	for _, c := range r.plugins() {
		taken[c.Name] = true
	}
	for _, s := range r.host.Agents.SkillList(label) {
		name := canonical(s.Name)
		if _, command := r.byName[name]; command || taken[name] {
			continue
		}
		taken[name] = true
		list = append(list, s)
	}
	return list
}

// Skill turns a text that begins with the name of an agent's skill in the form of a command into a prompt: "/deploy the docs".
func (r *Registry) Skill(label, text string) (prompt string, ok bool) {
	match := shape().FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return "", false
	}
	for _, s := range r.reachable(label) {
		if canonical(s.Name) != canonical(match[1]) {
			continue
		}
		prompt = fmt.Sprintf("Use the skill %q (%s)", s.Name, s.Path)
		if args := strings.TrimSpace(match[2]); args != "" {
			return prompt + ": " + args, true
		}
		return prompt + ".", true
	}
	return "", false
}
