package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// listToolsTimeout limits how long a plugin may take to list its tools.
const listToolsTimeout = 5 * time.Second

// argumentName matches names of tool arguments that the Messages API accepts.
var argumentName = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)

// ListTools returns the plugin's tools, within 5 seconds. A plugin without the service has none. If the Messages API would
// refuse one tool, which makes it refuse every request, ListTools returns an error.
func (p *Plugin) ListTools(ctx context.Context) ([]chat.ToolSpec, error) {
	ctx, cancel := context.WithTimeout(ctx, listToolsTimeout)
	defer cancel()
	response, err := p.tools.ListTools(ctx, &pluginv1.ListToolsRequest{})
	if status.Code(err) == codes.Unimplemented {
		return nil, nil
	}
	if err != nil {
		return nil, translate(err)
	}
	specs, err := wire.ToolSpecsFromProto(response)
	if err != nil {
		return nil, err
	}
	for _, spec := range specs {
		if err := checkSchema(spec.InputSchema); err != nil {
			return nil, fmt.Errorf("the input schema of the tool %q: %s", spec.Name, wire.Cut(err.Error(), wire.MaxDetail))
		}
	}
	return specs, nil
}

// checkSchema returns an error if the Messages API would refuse a schema.
func checkSchema(raw []byte) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return err
	}
	if schema.AnyOf != nil || schema.OneOf != nil || schema.AllOf != nil {
		return errors.New("anyOf, oneOf and allOf are not allowed at the top level")
	}
	for name := range schema.Properties {
		if !argumentName().MatchString(name) {
			return fmt.Errorf("an argument may not be called %q", wire.Cut(name, wire.MaxName))
		}
	}
	if _, err := schema.Resolve(nil); err != nil {
		return err
	}
	return checkTypes(&schema)
}

// jsonTypes are the valid types of a schema.
var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes finds invalid types, the only error that resolving a schema does not find.
func checkTypes(s *jsonschema.Schema) error {
	for _, name := range append([]string{s.Type}, s.Types...) {
		if name != "" && !slices.Contains(jsonTypes, name) {
			return fmt.Errorf("there is no type %q", wire.Cut(name, wire.MaxName))
		}
	}
	within := slices.Concat([]*jsonschema.Schema{s.Items, s.AdditionalProperties, s.Not}, s.PrefixItems, s.AnyOf, s.OneOf, s.AllOf)
	for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		within = slices.AppendSeq(within, maps.Values(named))
	}
	for _, sub := range within {
		if sub == nil {
			continue
		}
		if err := checkTypes(sub); err != nil {
			return err
		}
	}
	return nil
}

// CallTool calls the plugin's tool. The caller sets the deadline. A failed tool has a result; an error means that there is
// none.
func (p *Plugin) CallTool(ctx context.Context, call chat.ToolCall) (chat.ToolResult, error) {
	response, err := p.tools.CallTool(ctx, wire.ToolCallToProto(call))
	if err != nil {
		return chat.ToolResult{}, translate(err)
	}
	return wire.ToolResultFromProto(response)
}
