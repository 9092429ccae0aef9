package sdk

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxReply limits the answer of a command and maxContext the context of a hook, in bytes; longer text is cut.
const (
	maxReply   = 256 << 10
	maxContext = 64 << 10
)

// commandsServer serves the plugin's slash commands.
type commandsServer struct {
	pluginv1.UnimplementedCommandsServer
	*plugin
}

// RunCommand finds the component that has the command.
func (s *commandsServer) RunCommand(ctx context.Context, r *pluginv1.RunCommandRequest) (*pluginv1.RunCommandResponse, error) {
	caller, err := wire.CallerFromProto(r.GetCaller())
	if err != nil {
		return nil, invalid(err)
	}
	parts := s.opened()
	if parts == nil {
		return nil, errNotConfigured
	}
	for _, p := range parts {
		if !p.answers(r.GetName()) {
			continue
		}
		reply, err := answer(ctx, p.value, CommandCall{ID: r.GetId(), Name: r.GetName(), Args: wire.Repair(r.GetArgs()), Caller: caller})
		if err != nil {
			return nil, err
		}
		return &pluginv1.RunCommandResponse{Reply: wire.Cut(reply.Text, maxReply), Buttons: wire.ButtonsToProto(reply.Buttons)}, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "the plugin has no command %q", wire.Cut(r.GetName(), wire.MaxName))
}

// answer has a component with commands answer one.
func answer(ctx context.Context, component any, call CommandCall) (Reply, error) {
	if replier, ok := component.(CommandReplier); ok {
		return replier.ReplyCommand(ctx, call)
	}
	text, err := component.(CommandRunner).RunCommand(ctx, call)
	return Reply{Text: text}, err
}

func (c Component) answers(command string) bool {
	for _, spec := range c.commands {
		if spec.Name == command {
			return true
		}
	}
	return false
}

// hooksServer serves the plugin's hooks.
type hooksServer struct {
	pluginv1.UnimplementedHooksServer
	*plugin
}

// BeforeAgentStart asks the component that has the hook.
func (s *hooksServer) BeforeAgentStart(
	ctx context.Context, r *pluginv1.BeforeAgentStartRequest,
) (*pluginv1.BeforeAgentStartResponse, error) {
	caller, err := wire.CallerFromProto(r.GetCaller())
	if err != nil {
		return nil, invalid(err)
	}
	starter, err := hook[AgentStarter](s, pluginv1.Capability_CAPABILITY_HOOK_BEFORE_AGENT_START)
	if err != nil {
		return nil, err
	}
	added, err := starter.BeforeAgentStart(ctx, AgentStart{
		TurnID: r.GetTurnId(), Caller: caller, Prompt: wire.Repair(r.GetPrompt()),
		TakesConversation: r.GetTakesConversationContext(),
	})
	if err != nil {
		return nil, err
	}
	return &pluginv1.BeforeAgentStartResponse{
		PrependContext: wire.Cut(added.Prepend, maxContext), ConversationContext: wire.Cut(added.Conversation, maxContext),
	}, nil
}

// MessageReceived calls the component that observes messages.
func (s *hooksServer) MessageReceived(
	ctx context.Context, r *pluginv1.MessageReceivedRequest,
) (*pluginv1.MessageReceivedResponse, error) {
	caller, message, err := wire.MessageReceivedFromProto(r)
	if err != nil {
		return nil, invalid(err)
	}
	observer, err := hook[MessageObserver](s, pluginv1.Capability_CAPABILITY_HOOK_MESSAGE_RECEIVED)
	if err != nil {
		return nil, err
	}
	if err := observer.MessageReceived(ctx, MessageReceived{Caller: caller, Message: message}); err != nil {
		return nil, err
	}
	return &pluginv1.MessageReceivedResponse{}, nil
}

// TranscriptAppended calls the component that follows transcripts. Entries that cannot be decoded are left out: otherwise
// the host would send them again and again.
func (s *hooksServer) TranscriptAppended(
	ctx context.Context, r *pluginv1.TranscriptAppendedRequest,
) (*pluginv1.TranscriptAppendedResponse, error) {
	label, session, entries, err := wire.TranscriptAppendedFromProto(r)
	if err != nil {
		return nil, invalid(err)
	}
	observer, err := hook[TranscriptObserver](s, pluginv1.Capability_CAPABILITY_HOOK_TRANSCRIPT_APPENDED)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return &pluginv1.TranscriptAppendedResponse{}, nil
	}
	if err := observer.TranscriptAppended(ctx, TranscriptAppended{Agent: label, Session: session, Entries: entries}); err != nil {
		return nil, err
	}
	return &pluginv1.TranscriptAppendedResponse{}, nil
}

// hook finds the opened component that has a hook.
func hook[T any](s *hooksServer, capability pluginv1.Capability) (T, error) {
	value, ok := find[T](s.plugin, capability)
	switch {
	case ok:
		return value, nil
	case s.serves(capability):
		return value, errNotConfigured
	default:
		return value, status.Error(codes.Unimplemented, "the plugin has no such hook")
	}
}
