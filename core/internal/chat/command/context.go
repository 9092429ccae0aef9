package command

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// context shows what fills the conversation's context.
func (d hostCommands) context(_ context.Context, call Call) (string, error) {
	var parts []wording.Part
	for _, section := range d.host.Agents.Sections(call.Caller, call.Session) {
		parts = append(parts, wording.Part{Name: section.Name, Bytes: section.Bytes})
	}
	return wording.Context(call.Session, parts, d.host.Now()), nil
}

// whoami shows callers how the host identifies them.
func (d hostCommands) whoami(_ context.Context, call Call) (string, error) {
	c := call.Caller
	return wording.WhoAmI(wording.You{
		Name: c.Sender.Name(), ID: who(c), Username: c.Sender.Username, Authority: c.Authority,
		Chat: string(c.Address.Chat), Kind: c.Kind, Thread: string(c.Address.Thread), Session: c.Session,
	}), nil
}
