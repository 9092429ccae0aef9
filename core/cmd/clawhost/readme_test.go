package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
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
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		for _, sub := range c.Commands() {
			walk(sub, path+sub.Name()+" ")
		}
		if path != "" {
			there = append(there, path)
		}
	}
	root := (&app{err: os.Stderr}).commands()
	root.InitDefaultHelpCmd()
	walk(root, "")
	slices.Sort(shown)
	slices.Sort(there)
	if diff := cmp.Diff(there, shown); diff != "" {
		t.Errorf("commands (-there +shown):\n%s", diff)
	}
}
