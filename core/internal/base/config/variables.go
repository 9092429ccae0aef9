package config

import (
	"path/filepath"
	"strings"
	"sync"
)

// VariablesPath returns the path of the file with the variables that the environment lacks: the file env beside the config file at path,
// with a line such as NAME=value for each, as in systemd's EnvironmentFile.
func VariablesPath(path string) string { return filepath.Join(filepath.Dir(path), "env") }

// Variables returns how the config file at path looks up variables: in the environment, then in the file of variables if this user can
// read it. Lines that are no assignments are ignored there.
func Variables(path string, env func(name string) (value string, ok bool)) func(name string) (value string, ok bool) {
	read := sync.OnceValue(func() map[string]string {
		return readVariables(VariablesPath(path))
	})
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := read()[name]
		return value, ok
	}
}

// readVariables reads a file of variables. One that cannot be read has none: where root keeps it, the service manager passes them on.
func readVariables(path string) map[string]string {
	text, err := readFile(path)
	if err != nil {
		return nil
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, value, is := strings.Cut(line, "=")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		list[strings.TrimSpace(name)] = unquoted(strings.TrimSpace(value))
	}
	return list
}

// unquoted returns a value without the quotes around it.
func unquoted(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
