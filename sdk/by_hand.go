package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
)

// startedByHand tells a person who ran the binary what it is for.
func startedByHand(w io.Writer, binary string, d *pluginv1.DescribeResponse) {
	fmt.Fprintf(w, "%s %s is a plugin of clawhost. It does nothing by itself: clawhost starts it.\n\n", d.GetName(), d.GetVersion())
	fmt.Fprintf(w, "Put the binary into clawhost's plugin_dir and this block into its config file:\n\n")
	fmt.Fprintf(w, "plugin %q {\n", d.GetName())
	if name := filepath.Base(binary); name != "clawhost-"+d.GetName() {
		fmt.Fprintf(w, "  source = %q\n", name)
	}
	schema := &jsonschema.Schema{}
	if json.Unmarshal(d.GetConfigSchemaJson(), schema) == nil && len(schema.Properties) > 0 {
		fmt.Fprintf(w, "  config {\n")
		for _, name := range propertyNames(d.GetConfigSchemaJson()) {
			writeAttribute(w, d.GetName(), name, schema)
		}
		fmt.Fprintf(w, "  }\n")
	}
	fmt.Fprintf(w, "}\n")
	for i, c := range d.GetCommands() {
		if i == 0 {
			fmt.Fprintf(w, "\nCommands:\n")
		}
		fmt.Fprintf(w, "  %s  %s\n", c.GetUsage(), c.GetSummary())
	}
}

// writeAttribute writes one line of the example; what may be left out is commented out.
func writeAttribute(w io.Writer, plugin, name string, schema *jsonschema.Schema) {
	p := schema.Properties[name]
	if p.Description != "" {
		fmt.Fprintf(w, "    # %s\n", strings.ReplaceAll(p.Description, "\n", " "))
	}
	optional := "# "
	for _, required := range schema.Required {
		if required == name {
			optional = ""
		}
	}
	fmt.Fprintf(w, "    %s%s = %s\n", optional, name, exampleValue(plugin, name, p))
}

func exampleValue(plugin, name string, p *jsonschema.Schema) string {
	variable := strings.ToUpper(strings.ReplaceAll(plugin, "-", "_") + "_" + name)
	switch {
	case p.WriteOnly:
		return fmt.Sprintf("env(%q)", variable)
	case p.Default != nil:
		return string(p.Default)
	case len(p.Examples) > 0:
		if example, err := json.Marshal(p.Examples[0]); err == nil {
			return string(example)
		}
	}
	switch p.Type {
	case "integer", "number":
		return "0"
	case "boolean":
		return "false"
	case "array":
		return "[]"
	case "object":
		return "{}"
	default:
		return `""`
	}
}

// propertyNames returns the names of a schema's properties in the order of its text, which is that of the author's struct.
func propertyNames(schema []byte) (names []string) {
	var outer struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &outer) != nil {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(outer.Properties)))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}
