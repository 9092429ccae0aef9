package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// ToolCall is the agent's use of a tool.
type ToolCall struct {
	TurnID string
	Caller chat.Caller // whom the turn answers: the agent may not do for them what they may not do themselves
}

// ToolResult is the result of a tool that returns more than a text or a value.
type ToolResult struct {
	Text string // for the model; at most 64 KiB, more is cut
	// Media are files for the model, by their refs in [Env].Media; at most 8. The model sees images, and the names of other
	// files.
	Media []chat.Media
	// Details is for the host and is never shown to the model: anything that marshals to at most 64 KiB of JSON. A larger
	// value is replaced by its beginning as a text, and says so.
	Details any
}

// AgentTool is a tool for the agent. [Tool] makes one.
type AgentTool struct {
	spec chat.ToolSpec
	call func(ctx context.Context, call ToolCall, arguments []byte) (chat.ToolResult, error)
	err  error // a mistake in the definition; Serve reports it
}

// Toolbox is a service with tools. Tools is called once, after the service has been opened.
type Toolbox interface {
	Tools() []AgentTool
}

// Tools returns tools that need no config.
func Tools(tools ...AgentTool) Component {
	c := plain("tools", nil)
	c.tools = tools
	c.capabilities = []pluginv1.Capability{pluginv1.Capability_CAPABILITY_TOOLS}
	return c
}

// Tool returns a tool for the agent, named mcp__clawhost__<plugin>_<name>. Name consists of 1 to 32 lower-case letters,
// digits and underscores; description tells the model what the tool does and when to use it.
//
// In is a struct like that of a config: the json tags name the arguments, default and omitempty make them optional,
// jsonschema describes them to the model. Invalid arguments are refused before f is called, and the model reads what is
// wrong with them.
//
// Out is what the model reads: a string unchanged, a [ToolResult] as documented there, any other type as JSON. The model
// also reads an error, as the reason of the failure: it should say what to do instead, and must not contain secrets. A
// panic is reported as a failure without its cause.
//
// Ctx ends with the turn, or at the host's deadline for calls. Calls may be concurrent.
func Tool[In, Out any](name, description string, f func(ctx context.Context, call ToolCall, in In) (Out, error)) AgentTool {
	schema, err := schemaOf(reflect.TypeFor[In]())
	if err != nil {
		return AgentTool{spec: chat.ToolSpec{Name: name}, err: fmt.Errorf("the arguments of the tool %q: %w", name, err)}
	}
	if schema == nil {
		schema = &jsonschema.Schema{Type: "object"}
	}
	schema.Schema = "" // the model pays for each word
	raw, err := json.Marshal(schema)
	return AgentTool{
		spec: chat.ToolSpec{Name: name, Description: description, InputSchema: raw},
		err:  err,
		call: func(ctx context.Context, call ToolCall, arguments []byte) (chat.ToolResult, error) {
			var in In
			if err := decodeArguments(arguments, schema, &in); err != nil {
				return chat.ToolResult{Text: "The arguments do not fit: " + err.Error() + ".", Failed: true}, nil
			}
			out, err := f(ctx, call, in)
			if err != nil {
				return failed(ctx, err)
			}
			return rendered(out)
		},
	}
}

// Remembers returns a copy of the tool that declares that, in these kinds of chats, it writes a memory of the conversation that uses
// it. Shortly before such a conversation is compacted, the host has the agent use it to keep what matters.
func (t AgentTool) Remembers(in ...chat.Kind) AgentTool {
	t.spec.Remembers = slices.Clone(in)
	return t
}

// decodeArguments checks the model's arguments against the schema and decodes them into target. The error is for the model.
// Models write null for arguments that they leave out.
func decodeArguments(raw []byte, schema *jsonschema.Schema, target any) error {
	value, err := objectOf(raw)
	if err != nil {
		return errors.New("they are not a JSON object")
	}
	dropNulls(value, schema)
	var wrong []string
	for _, f := range check(value, schema, nil) {
		text := f.summary
		if len(f.path) > 0 {
			text = f.path.String() + ": " + text
		}
		wrong = append(wrong, text)
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	full, err := json.Marshal(withDefaults(value, schema))
	if err != nil {
		return err
	}
	err = json.Unmarshal(full, target)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: cannot be %s", e.Field, e.Value)
	}
	return err
}

// dropNulls removes optional properties that are null.
func dropNulls(value any, s *jsonschema.Schema) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if s.Items != nil {
				dropNulls(item, s.Items)
			}
		}
	case map[string]any:
		for name, item := range v {
			p := s.Properties[name]
			if item == nil && p != nil && !slices.Contains(s.Required, name) {
				delete(v, name)
			} else if p != nil {
				dropNulls(item, p)
			}
		}
	}
}

// failed returns the result of a call that returned an error. A call whose context has ended has no result.
func failed(ctx context.Context, err error) (chat.ToolResult, error) {
	if ctx.Err() != nil {
		return chat.ToolResult{}, ctx.Err()
	}
	return chat.ToolResult{Text: err.Error(), Failed: true}, nil
}

// rendered converts an author's value to what the model reads. Its error is the author's mistake.
func rendered(out any) (chat.ToolResult, error) {
	switch o := out.(type) {
	case string:
		return chat.ToolResult{Text: o}, nil
	case ToolResult:
		result := chat.ToolResult{Text: o.Text, Media: o.Media}
		if o.Details != nil {
			details, err := compact(o.Details)
			if err != nil {
				return chat.ToolResult{}, fmt.Errorf("the details of a tool's result: %w", err)
			}
			result.Details = details
		}
		return result, nil
	}
	text, err := compact(out)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("a tool's result: %w", err)
	}
	return chat.ToolResult{Text: string(text)}, nil
}

// compact marshals a value to JSON without insignificant space and HTML escapes.
func compact(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// validateTools finds mistakes of the author in the tools of a plugin.
func validateTools(tools []AgentTool) error {
	named := map[string]bool{}
	for _, t := range tools {
		name := t.spec.Name
		switch {
		case t.err != nil:
			return t.err
		case t.call == nil:
			return errors.New("a tool was not made by sdk.Tool")
		case !wire.ValidToolName(name):
			return fmt.Errorf("the tool's name %q is not made of 1 to %d lower-case letters, digits and underscores", name, wire.MaxCommand)
		case t.spec.Description == "" || len(t.spec.Description) > wire.MaxToolDescription:
			return fmt.Errorf("the description of the tool %q has %d bytes; it must have 1 to %d", name,
				len(t.spec.Description), wire.MaxToolDescription)
		case len(t.spec.InputSchema) > wire.MaxToolSchema:
			return fmt.Errorf("the schema of the tool %q's arguments has %d bytes; at most %d are allowed", name,
				len(t.spec.InputSchema), wire.MaxToolSchema)
		case named[name]:
			return fmt.Errorf("the tool %q is defined twice", name)
		}
		named[name] = true
	}
	if len(tools) > wire.MaxTools {
		return fmt.Errorf("there are %d tools, at most %d are allowed", len(tools), wire.MaxTools)
	}
	return nil
}
