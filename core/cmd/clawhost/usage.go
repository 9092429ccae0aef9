package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is a command line that cannot be understood.
type usageError struct {
	why     string
	command *cobra.Command // that was called; nil: not yet known
}

// Error implements error.
func (e *usageError) Error() string { return e.why }

// usage refuses a command line.
func usage(format string, args ...any) error { return &usageError{why: fmt.Sprintf(format, args...)} }

// withCommand adds the command that was used wrongly to an error of [usage].
func withCommand(err error, c *cobra.Command) error {
	var wrong *usageError
	if errors.As(err, &wrong) {
		return &usageError{wrong.why, c}
	}
	return err
}

// unknownCommand refuses a command that does not exist, and names the one that may be meant.
func unknownCommand(parent *cobra.Command, typed string) error {
	why := fmt.Sprintf("there is no command %q", typed)
	if parent.HasParent() {
		why = fmt.Sprintf("%s has no command %q", pathOf(parent), typed)
	}
	if meant := parent.SuggestionsFor(typed); len(meant) > 0 {
		why += fmt.Sprintf("; did you mean %q?", meant[0])
	}
	return &usageError{why, parent}
}

// useLine is how a command is used.
func useLine(c *cobra.Command) string {
	if c.HasSubCommands() {
		return c.CommandPath() + " [COMMAND]"
	}
	return c.UseLine()
}

// pathOf is a command without the name of the program.
func pathOf(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

// flagError words the errors of flags, which are written with one dash in the documentation.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name = short
		}
		why := fmt.Sprintf("there is no flag -%s", name)
		if meant := nearestFlag(c, name); meant != "" {
			why += fmt.Sprintf("; did you mean -%s?", meant)
		}
		return &usageError{why, c}
	case errors.As(err, &missing):
		return &usageError{fmt.Sprintf("the flag -%s needs a value", missing.GetFlag().Name), c}
	case errors.As(err, &invalid):
		return &usageError{fmt.Sprintf("the flag -%s cannot be %q", invalid.GetFlag().Name, invalid.GetValue()), c}
	}
	return &usageError{err.Error(), c}
}

// nearestFlag is the flag of a command that may be meant; empty: none is near. The library compares names of commands only.
func nearestFlag(c *cobra.Command, typed string) string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if meant := names.SuggestionsFor(typed); len(meant) > 0 {
		return meant[0]
	}
	return ""
}

// dashed gives the flags of a command line their second dash. The library wants two for names of more than one letter; programs in Go
// and HashiCorp's take one. Words that are not the name of a flag stay as they are, and so does all behind "--".
func dashed(root *cobra.Command, args []string) []string {
	known := map[string]bool{"help": true}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		note := func(f *pflag.Flag) { known[f.Name] = true }
		c.LocalFlags().VisitAll(note)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	list := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(list[i:], args[i:])
			break
		}
		list[i] = arg
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && known[name] {
			list[i] = "-" + arg
		}
	}
	return list
}

// indented returns the lines of an example as the help shows them.
func indented(example string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n  ")
}
