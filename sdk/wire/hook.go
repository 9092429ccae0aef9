package wire

import (
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// MessageReceivedToProto converts a message for a message observer.
func MessageReceivedToProto(caller chat.Caller, m chat.Message) *pluginv1.MessageReceivedRequest {
	return &pluginv1.MessageReceivedRequest{Caller: CallerToProto(caller), Message: MessageToProto(m)}
}

// MessageReceivedFromProto converts a message for a message observer.
func MessageReceivedFromProto(p *pluginv1.MessageReceivedRequest) (chat.Caller, chat.Message, error) {
	caller, errCaller := CallerFromProto(p.GetCaller())
	message, errMessage := MessageFromProto(p.GetMessage())
	if err := first(errCaller, errMessage); err != nil {
		return chat.Caller{}, chat.Message{}, err
	}
	return caller, message, nil
}

// TranscriptAppendedToProto converts new entries of the history of an agent's session. Texts are cut to [MaxEntry] bytes, as FromProto
// cuts them, so that no text is too long for a message.
func TranscriptAppendedToProto(label, session string, entries []chat.TranscriptEntry) *pluginv1.TranscriptAppendedRequest {
	return &pluginv1.TranscriptAppendedRequest{
		Agent:      label,
		SessionKey: session,
		Entries: each(entries, func(e chat.TranscriptEntry) *pluginv1.TranscriptEntry {
			e.Text = Cut(e.Text, MaxEntry)
			return TranscriptEntryToProto(e)
		}),
	}
}

// TranscriptAppendedFromProto converts new entries of the history of an agent's session. Invalid entries, such as those with a role of a
// newer protocol, are left out: if they were refused, the host would resend all of them forever.
func TranscriptAppendedFromProto(
	p *pluginv1.TranscriptAppendedRequest,
) (label, session string, entries []chat.TranscriptEntry, err error) {
	if n := len(p.GetSessionKey()); n == 0 || n > MaxSession {
		return "", "", nil, field("session_key", "%d bytes, 1 to %d are allowed", n, MaxSession)
	}
	if err := first(count("entries", len(p.GetEntries()), MaxEntries), agent("agent", p.GetAgent())); err != nil {
		return "", "", nil, err
	}
	for _, e := range p.GetEntries() {
		if entry, err := TranscriptEntryFromProto(e); err == nil {
			entries = append(entries, entry)
		}
	}
	return p.GetAgent(), p.GetSessionKey(), entries, nil
}

// SetCommandsToProto converts a menu of commands, of which the first [MaxMenu] are kept.
func SetCommandsToProto(commands []chat.CommandSpec) *pluginv1.SetCommandsRequest {
	return &pluginv1.SetCommandsRequest{Commands: each(commands[:min(len(commands), MaxMenu)], CommandSpecToProto)}
}

// SetCommandsFromProto converts a menu of commands and checks their names.
func SetCommandsFromProto(p *pluginv1.SetCommandsRequest) ([]chat.CommandSpec, error) {
	if err := count("commands", len(p.GetCommands()), MaxMenu); err != nil {
		return nil, err
	}
	var commands []chat.CommandSpec
	named := map[string]bool{}
	for _, c := range p.GetCommands() {
		spec, err := CommandSpecFromProto(c)
		if err != nil {
			return nil, err
		}
		if named[spec.Name] {
			return nil, field("commands", "duplicate name %q", spec.Name)
		}
		named[spec.Name] = true
		commands = append(commands, spec)
	}
	return commands, nil
}
