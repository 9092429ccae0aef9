package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Limits for images in a tool result, in bytes: the Messages API accepts no larger ones, and lines to claude are limited.
const (
	maxImage  = 5 << 20
	maxImages = 10 << 20 // of all together
)

// imageTypes are the types that the Messages API accepts.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// result is a tool's result in MCP.
type result struct {
	Content []content `json:"content"`
	IsError bool      `json:"isError,omitempty"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Data string `json:"data,omitempty"`
	MIME string `json:"mimeType,omitempty"`
}

// said returns a result of text.
func said(text string, failed bool) result {
	if text == "" {
		text = "(The tool answered nothing.)"
	}
	return result{Content: []content{{Type: "text", Text: text}}, IsError: failed}
}

// ownTool is a tool of the host.
type ownTool struct {
	spec chat.ToolSpec
	// call runs the tool. An error that is not a [Refusal] is logged, and not shown to the model. Use identifies the call;
	// it may be empty.
	call func(ctx context.Context, t *Turn, arguments json.RawMessage, use string) (string, error)
}

// call calls a tool. Errors become results that the model can understand.
func (t *Turn) call(ctx context.Context, name string, arguments json.RawMessage, use string) result {
	s := t.server
	tool, ok := s.current(ctx).find(name)
	ok = ok && t.offers(name)
	if !ok {
		return said(fmt.Sprintf("There is no tool %q any more.", wire.Cut(name, wire.MaxName)), true)
	}
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	switch {
	case arguments[0] != '{':
		return said("The arguments must be a JSON object.", true)
	case len(arguments) > wire.MaxArguments:
		return said(fmt.Sprintf("The arguments have %d bytes, at most %d are allowed.", len(arguments), wire.MaxArguments), true)
	}
	select {
	case t.queue <- struct{}{}:
		defer func() { <-t.queue }()
	default:
		return said("Too many tools are being used at the same time. Wait for their results first.", true)
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return t.unanswered(ctx.Err(), tool)
	}
	asking, used := trace.Start(ctx, "tool", "plugin", cmp.Or(tool.plugin, metrics.Host), "tool", tool.spec.Name)
	began := time.Now()
	answered, details := t.ask(asking, tool, arguments, use)
	used.Failed(answered.IsError)
	s.note(context.WithoutCancel(ctx), t.caller.Session, domain.ToolUse{
		Turn: t.id, Plugin: tool.plugin, Tool: tool.spec.Name, At: time.Now(), Took: time.Since(began),
		Failed: answered.IsError, Details: details,
	})
	return answered
}

// note logs a use of a tool, and keeps what its plugin tells the host of it.
func (s *Server) note(ctx context.Context, session string, use domain.ToolUse) {
	s.options.Metrics.Tool(use.Plugin, use.Took, use.Failed)
	s.log.Debug("a tool was used", "session", session, "plugin", use.Plugin, "tool", use.Tool, "took", use.Took, "failed", use.Failed)
	if len(use.Details) == 0 {
		return
	}
	if err := s.options.Store.NoteToolUse(ctx, session, use); err != nil {
		s.log.Warn("the details of a tool's use are lost", "session", session, "plugin", use.Plugin, "tool", use.Tool, "error", err)
	}
}

// ask has the tool answer.
func (t *Turn) ask(ctx context.Context, tool offered, arguments json.RawMessage, use string) (result, []byte) {
	if tool.own != nil {
		return t.askHost(ctx, tool, arguments, use), nil
	}
	s := t.server
	plugin, running := s.options.Plugins.Get(tool.plugin)
	if !running {
		return said(fmt.Sprintf("The plugin %s, which has this tool, is not running at the moment. Try again later, or go on without it.", tool.plugin), true), nil
	}
	r, err := plugin.CallTool(ctx, chat.ToolCall{Name: tool.spec.Name, Arguments: arguments, TurnID: t.id, Caller: t.caller})
	switch {
	case ctx.Err() != nil:
		return t.unanswered(ctx.Err(), tool), nil
	case errors.Is(err, context.DeadlineExceeded): // the plugin timed out first
		return t.unanswered(err, tool), nil
	case err != nil:
		s.log.Error("a tool failed", "plugin", tool.plugin, "tool", tool.spec.Name, "session", t.caller.Session, "error", err)
		return said(fmt.Sprintf("The tool failed: something is wrong with the plugin %s. Go on without it.", tool.plugin), true), nil
	}
	answered := result{IsError: r.Failed}
	if r.Text != "" || len(r.Media) == 0 {
		answered = said(r.Text, r.Failed)
	}
	free := int64(maxImages)
	for _, m := range r.Media {
		shown, ok := s.picture(ctx, tool.plugin, m, min(maxImage, free))
		if !ok {
			shown = content{
				Type: "text",
				Text: fmt.Sprintf("[A file that cannot be shown here: %s %q, %s, %d bytes.]", m.Kind, m.FileName, m.MIMEType, m.Size),
			}
		}
		free -= int64(base64.StdEncoding.DecodedLen(len(shown.Data)))
		answered.Content = append(answered.Content, shown)
	}
	return answered, r.Details
}

func (t *Turn) askHost(ctx context.Context, tool offered, arguments json.RawMessage, use string) result {
	text, err := tool.own.call(ctx, t, arguments, use)
	refusal, refused := errors.AsType[Refusal](err)
	switch {
	case err == nil:
		return said(text, false)
	case refused:
		return said(string(refusal), true)
	case ctx.Err() != nil:
		return t.unanswered(ctx.Err(), tool)
	default:
		t.server.log.Error("a tool failed", "tool", tool.name, "session", t.caller.Session, "error", err)
		return said("The host failed at this; its log says why. Go on without it.", true)
	}
}

// unanswered returns the result of a call that timed out or was cancelled.
func (t *Turn) unanswered(cause error, tool offered) result {
	if errors.Is(cause, context.DeadlineExceeded) {
		return said(fmt.Sprintf("The tool %s did not answer within %s. What it was to do may be done all the same.",
			tool.name, t.timeout), true)
	}
	return said("The call was cancelled.", true)
}

// picture returns a file as an image for the model; false: the model cannot see it.
func (s *Server) picture(ctx context.Context, plugin string, m chat.Media, most int64) (content, bool) {
	if !slices.Contains(imageTypes, m.MIMEType) {
		return content{}, false
	}
	found, data, err := s.options.Files.Read(ctx, plugin, m.Ref, most)
	if err != nil || len(data) == 0 || !slices.Contains(imageTypes, found.MIMEType) {
		s.log.Warn("a tool's picture cannot be shown", "plugin", plugin, "type", found.MIMEType, "bytes", found.Size, "error", err)
		return content{}, false
	}
	return content{Type: "image", Data: base64.StdEncoding.EncodeToString(data), MIME: found.MIMEType}, true
}

// decode decodes the arguments of a host tool. Its error is a [Refusal].
func decode(arguments json.RawMessage, target any) error {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	err := d.Decode(target)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Refusal(fmt.Sprintf("The arguments do not fit: %s cannot be %s.", e.Field, e.Value))
	}
	if err != nil {
		return Refusal("The arguments do not fit: " + wire.Cut(err.Error(), wire.MaxDetail) + ".")
	}
	return nil
}
