package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// Limits of a plugin's tools and their results.
const (
	MaxTools           = 50       // per plugin; more are refused
	MaxToolDescription = 4 << 10  // bytes; longer ones are refused
	MaxToolSchema      = 16 << 10 // bytes; longer ones are refused
	MaxArguments       = 256 << 10
	MaxToolText        = 64 << 10 // bytes of a result; longer ones are cut, and say so
	MaxToolMedia       = 8        // files per result
	MaxToolDetails     = 64 << 10 // bytes; longer ones are replaced by their beginning, which says so
)

// toolCut marks a text that was cut.
const toolCut = "\n[The rest is left out: the result is too long.]"

// ValidToolName reports whether a tool may have this name; the rules are those of commands.
func ValidToolName(name string) bool { return ValidCommandName(name) }

// ToolSpecToProto converts the description of a tool.
func ToolSpecToProto(s chat.ToolSpec) *pluginv1.ToolSpec {
	p := &pluginv1.ToolSpec{Name: s.Name, Description: Repair(s.Description), InputSchemaJson: s.InputSchema}
	for _, kind := range s.Remembers {
		p.Remembers = append(p.Remembers, kinds[kind])
	}
	return p
}

// ToolSpecsFromProto converts the tools of a plugin. It checks their names, and that each schema is a JSON object of type
// "object", but not that it is a valid schema.
func ToolSpecsFromProto(p *pluginv1.ListToolsResponse) ([]chat.ToolSpec, error) {
	if err := count("tools", len(p.GetTools()), MaxTools); err != nil {
		return nil, err
	}
	var list []chat.ToolSpec
	named := map[string]bool{}
	for _, t := range p.GetTools() {
		spec, err := toolSpecFrom(t)
		if err != nil {
			return nil, err
		}
		if named[spec.Name] {
			return nil, field("tools", "duplicate name %q", spec.Name)
		}
		named[spec.Name] = true
		list = append(list, spec)
	}
	return list, nil
}

func toolSpecFrom(p *pluginv1.ToolSpec) (chat.ToolSpec, error) {
	if !ValidToolName(p.GetName()) {
		return chat.ToolSpec{}, field("tool.name", "%q is not made of 1 to %d lower-case letters, digits and underscores",
			Cut(p.GetName(), 2*MaxCommand), MaxCommand)
	}
	switch n := len(p.GetDescription()); {
	case n == 0:
		return chat.ToolSpec{}, field("tool.description", "that of %q is empty", p.GetName())
	case n > MaxToolDescription:
		return chat.ToolSpec{},
			field("tool.description", "that of %q has %d bytes, at most %d are allowed", p.GetName(), n, MaxToolDescription)
	}
	schema := p.GetInputSchemaJson()
	if n := len(schema); n > MaxToolSchema {
		return chat.ToolSpec{},
			field("tool.input_schema_json", "that of %q has %d bytes, at most %d are allowed", p.GetName(), n, MaxToolSchema)
	}
	var object struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(schema, &object) != nil || string(object.Type) != `"object"` {
		return chat.ToolSpec{}, field("tool.input_schema_json", "that of %q is not a JSON Schema of type object", p.GetName())
	}
	spec := chat.ToolSpec{Name: p.GetName(), Description: Repair(p.GetDescription()), InputSchema: schema}
	for _, kind := range p.GetRemembers() {
		if known, err := KindFromProto(kind); err == nil && !slices.Contains(spec.Remembers, known) { // a later protocol may have more
			spec.Remembers = append(spec.Remembers, known)
		}
	}
	return spec, nil
}

// ToolCallToProto converts a call.
func ToolCallToProto(c chat.ToolCall) *pluginv1.CallToolRequest {
	return &pluginv1.CallToolRequest{
		Name: c.Name, ArgumentsJson: c.Arguments, TurnId: c.TurnID, Caller: CallerToProto(c.Caller),
	}
}

// ToolCallFromProto converts a call. The size of the arguments is checked, not their content.
func ToolCallFromProto(p *pluginv1.CallToolRequest) (chat.ToolCall, error) {
	caller, err := CallerFromProto(p.GetCaller())
	if err := first(err, id("turn_id", p.GetTurnId())); err != nil {
		return chat.ToolCall{}, err
	}
	if !ValidToolName(p.GetName()) {
		return chat.ToolCall{}, field("name", "%q is not a valid tool name", Cut(p.GetName(), 2*MaxCommand))
	}
	if n := len(p.GetArgumentsJson()); n > MaxArguments {
		return chat.ToolCall{}, field("arguments_json", "%d bytes, at most %d are allowed", n, MaxArguments)
	}
	return chat.ToolCall{Name: p.GetName(), Arguments: p.GetArgumentsJson(), TurnID: p.GetTurnId(), Caller: caller}, nil
}

// ToolResultToProto converts a result. It applies the same limits as FromProto.
func ToolResultToProto(r chat.ToolResult) *pluginv1.CallToolResponse {
	r = bounded(r)
	p := &pluginv1.CallToolResponse{IsError: r.Failed, DetailsJson: r.Details}
	if r.Text != "" {
		p.Content = append(p.Content, &pluginv1.Content{Content: &pluginv1.Content_Text{Text: r.Text}})
	}
	for _, m := range r.Media {
		p.Content = append(p.Content, &pluginv1.Content{Content: &pluginv1.Content_Media{Media: MediaToProto(m)}})
	}
	return p
}

// ToolResultFromProto converts a result; several texts are joined with line ends. Files without a ref, and details that are
// not JSON, are dropped.
func ToolResultFromProto(p *pluginv1.CallToolResponse) (chat.ToolResult, error) {
	r := chat.ToolResult{Failed: p.GetIsError(), Details: p.GetDetailsJson()}
	var b strings.Builder
	for _, c := range p.GetContent() {
		switch content := c.GetContent().(type) {
		case *pluginv1.Content_Text:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(content.Text)
		case *pluginv1.Content_Media:
			m, err := MediaFromProto(content.Media)
			if err != nil {
				return chat.ToolResult{}, field("content.media", "%w", err)
			}
			if m.Ref != "" && len(r.Media) < MaxToolMedia {
				r.Media = append(r.Media, m)
			}
		}
	}
	r.Text = b.String()
	return bounded(r), nil
}

// bounded returns a result within the limits.
func bounded(r chat.ToolResult) chat.ToolResult {
	if len(r.Text) > MaxToolText {
		r.Text = Cut(r.Text, MaxToolText-len(toolCut)) + toolCut
	}
	r.Text = Repair(r.Text)
	r.Media = r.Media[:min(len(r.Media), MaxToolMedia)]
	switch {
	case !json.Valid(r.Details):
		r.Details = nil
	case len(r.Details) > MaxToolDetails:
		r.Details = cutDetails(r.Details)
	}
	return r
}

// cutDetails returns the beginning of details as a text, with the mark that they were cut and their size. The beginning is
// short enough that it fits however many of its characters are escaped.
func cutDetails(details json.RawMessage) json.RawMessage {
	cut := struct {
		Cut       bool   `json:"cut"`
		Bytes     int    `json:"bytes"`
		Beginning string `json:"beginning"`
	}{true, len(details), Cut(Repair(string(details[:MaxToolDetails/4])), MaxToolDetails/8)}
	data, err := json.Marshal(cut)
	if err != nil {
		return nil // it is made of texts and numbers
	}
	return data
}
