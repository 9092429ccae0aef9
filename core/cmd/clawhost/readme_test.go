package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peterbourgon/ff/v3/ffcli"
)

// The README shows each command that there is, and no other.
func TestReadmeShowsTheCommands(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, line := range regexp.MustCompile(`(?m)^bin/clawhost ((?:[a-z]+ )+)`).FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, line[1])
	}
	var there []string
	var walk func(c *ffcli.Command, path string)
	walk = func(c *ffcli.Command, path string) {
		for _, sub := range c.Subcommands {
			walk(sub, path+sub.Name+" ")
		}
		if path != "" && !regexp.MustCompile(` COMMAND$`).MatchString(c.ShortUsage) {
			there = append(there, path)
		}
	}
	walk((&app{err: os.Stderr}).commands(), "")
	slices.Sort(shown)
	slices.Sort(there)
	if diff := cmp.Diff(there, shown); diff != "" {
		t.Errorf("commands (-there +shown):\n%s", diff)
	}
}
