package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// printUsage explains to a person who ran the binary what it is for.
func printUsage(w io.Writer, binary string, d *pluginv1.DescribeResponse, components []Component) {
	fmt.Fprintf(w, "%s %s is a plugin of clawhost. It does nothing by itself: clawhost starts it.\n\n", d.GetName(), d.GetVersion())
	fmt.Fprintf(w, "Put the binary into clawhost's plugin_dir and this block into its config file:\n\n")
	fmt.Fprintf(w, "plugin %q {\n", d.GetName())
	if name := filepath.Base(binary); name != "clawhost-"+d.GetName() {
		fmt.Fprintf(w, "  source = %q\n", name)
	}
	if schema := d.GetConfigSchemaJson(); len(propertiesOf(schema)) > 0 {
		fmt.Fprintf(w, "  config {\n")
		writeAttributes(w, "    ", d.GetName(), schema)
		fmt.Fprintf(w, "  }\n")
	}
	fmt.Fprintf(w, "}\n")
	for i, c := range d.GetCommands() {
		if i == 0 {
			fmt.Fprintf(w, "\nCommands:\n")
		}
		fmt.Fprintf(w, "  %s  %s\n", c.GetUsage(), c.GetSummary())
	}
	first := true
	for _, c := range components {
		for _, tool := range c.tools {
			if first {
				fmt.Fprintf(w, "\nTools:\n")
			}
			first = false
			fmt.Fprintf(w, "  %s  %s\n", tool.spec.Name, strings.ReplaceAll(tool.spec.Description, "\n", " "))
		}
	}
}

// writeAttributes writes examples of an object's properties. The path prefix names their variables. Optional properties are
// commented out.
func writeAttributes(w io.Writer, indent, path string, schema []byte) {
	var object jsonschema.Schema
	if json.Unmarshal(schema, &object) != nil {
		return
	}
	for _, p := range propertiesOf(schema) {
		described := object.Properties[p.name]
		if described.Description != "" {
			fmt.Fprintf(w, "%s# %s\n", indent, strings.ReplaceAll(described.Description, "\n", " "))
		}
		indent := indent
		if !slices.Contains(object.Required, p.name) && !strings.HasSuffix(strings.TrimRight(indent, " "), "#") {
			indent += "# "
		}
		inner := path + "_" + p.name
		if len(propertiesOf(p.schema)) == 0 {
			fmt.Fprintf(w, "%s%s = %s\n", indent, p.name, exampleValue(inner, described))
			continue
		}
		fmt.Fprintf(w, "%s%s = {\n", indent, p.name)
		writeAttributes(w, indent+"  ", inner, p.schema)
		fmt.Fprintf(w, "%s}\n", indent)
	}
}

func exampleValue(path string, p *jsonschema.Schema) string {
	switch {
	case p.WriteOnly:
		return fmt.Sprintf("env(%q)", strings.ToUpper(strings.ReplaceAll(path, "-", "_")))
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

// property is a property of an object, with its schema.
type property struct {
	name   string
	schema json.RawMessage
}

// propertiesOf returns an object's properties in the order in which its schema lists them, which is the field order of the
// author's struct.
func propertiesOf(schema []byte) (list []property) {
	var outer struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &outer) != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(outer.Properties))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return list
		}
		list = append(list, property{fmt.Sprint(name), value})
	}
	return list
}
