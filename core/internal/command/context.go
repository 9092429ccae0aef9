package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// context tells what fills the conversation's context.
func (d desk) context(_ context.Context, call Call) (string, error) {
	s := call.Session
	var b strings.Builder
	fmt.Fprintf(&b, "**Context**\n\n- %s", filled(s))
	if !s.FlushedAt.IsZero() {
		fmt.Fprintf(&b, "\n- memories saved %s ago", age(d.host.Now().Sub(s.FlushedAt)))
	}
	sections := d.host.Agent.Sections(call.Caller, s)
	fmt.Fprintf(&b, "\n- system prompt beside Claude's own: %s", size(total(sections)))
	for _, section := range sections {
		fmt.Fprintf(&b, "\n  - %s: %s", section.Name, size(section.Bytes))
	}
	b.WriteString("\n\n`/compact` shortens the conversation, `/new` begins another.")
	return b.String(), nil
}

func total(sections []agent.Section) int {
	bytes := 0
	for _, s := range sections {
		bytes += s.Bytes
	}
	return bytes
}

// whoami tells callers who they are to the host.
func (d desk) whoami(_ context.Context, call Call) (string, error) {
	c := call.Caller
	var b strings.Builder
	fmt.Fprintf(&b, "**You** are %s\n", code(c.Sender.Name()))
	fmt.Fprintf(&b, "\n- id: %s", code(c.Address.Channel+":"+string(c.Sender.ID)))
	if c.Sender.Username != "" {
		fmt.Fprintf(&b, "\n- username: %s", code(c.Sender.Username))
	}
	fmt.Fprintf(&b, "\n- you are: %s", c.Authority)
	fmt.Fprintf(&b, "\n- chat: %s, %s", code(string(c.Address.Chat)), c.Kind)
	if c.Address.Thread != "" {
		fmt.Fprintf(&b, ", thread %s", code(string(c.Address.Thread)))
	}
	fmt.Fprintf(&b, "\n- session: %s", code(c.Session))
	return b.String(), nil
}
