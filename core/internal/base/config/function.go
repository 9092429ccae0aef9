package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// maxFile is the maximum size of the config file and of files for file(), in bytes.
const maxFile = 1 << 20

var variableForm = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variableName reports whether name can be the name of an environment variable.
func variableName(name string) bool { return len(name) <= 128 && variableForm().MatchString(name) }

// place is the position of the file, to which its paths and functions refer.
type place struct {
	dir string // of the file, absolute
	env func(string) (string, bool)
}

// functions returns the functions for the file.
func (p place) functions() *hcl.EvalContext {
	name := function.Parameter{Name: "name", Type: cty.String}
	fallback := function.Parameter{Name: "default", Type: cty.String}
	return &hcl.EvalContext{Functions: map[string]function.Function{
		"env": function.New(&function.Spec{
			Params:   []function.Parameter{name},
			VarParam: &fallback,
			Type:     function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				if len(args) > 2 {
					return cty.NilVal, errors.New("it takes a name and an optional default")
				}
				return p.variable(args[0].AsString(), args[1:])
			},
		}),
		"file": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "path", Type: cty.String}},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return p.file(args[0].AsString())
			},
		}),
		"jsonencode": stdlib.JSONEncodeFunc,
		"trimspace":  stdlib.TrimSpaceFunc,
	}}
}

func (p place) variable(name string, fallback []cty.Value) (cty.Value, error) {
	// An invalid name is not quoted: it may be the secret itself.
	if !variableName(name) {
		return cty.NilVal, errors.New("that is not the name of an environment variable")
	}
	if text, ok := p.env(name); ok {
		return cty.StringVal(text), nil
	}
	if len(fallback) > 0 {
		return fallback[0], nil
	}
	return cty.NilVal, unsetError(name)
}

// unsetError is the name of an environment variable that is not set.
type unsetError string

func (e unsetError) Error() string { return "the environment variable " + string(e) + " is not set" }

func (p place) file(path string) (cty.Value, error) {
	path, err := p.resolve(p.dir, path)
	if err != nil {
		return cty.NilVal, err
	}
	text, err := readFile(path)
	if err != nil {
		return cty.NilVal, fmt.Errorf("%s: %w", path, err)
	}
	if !utf8.Valid(text) {
		return cty.NilVal, fmt.Errorf("%s: it is not UTF-8 text", path)
	}
	return cty.StringVal(string(text)), nil
}

// resolve makes a path absolute: ~ is the home folder, and a relative path is relative to base.
func (p place) resolve(base, path string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, ok := p.env("HOME")
		if !ok || !filepath.IsAbs(home) {
			return "", errors.New("~ cannot be expanded, because the environment variable HOME is not set to a path")
		}
		return filepath.Join(home, path[1:]), nil
	}
	if strings.HasPrefix(path, "~") {
		return "", errors.New("~ stands for your own home folder only; write ~/ or the whole path")
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(base, path), nil
}

// readFile reads a regular file of at most maxFile bytes. Errors do not contain the path; the caller adds it.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, cause(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, cause(err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("it is larger than %d KiB", maxFile>>10)
	}
	return text, nil
}

// cause strips operation and path from a file error.
func cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
