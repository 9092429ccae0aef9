package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// The levels of the log can be set for all components that the host gives a logger.
func TestComponents(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of package core: %v", err)
	}
	var named []string
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`h\.log\.Named\("(\w+)"\)`).FindAllStringSubmatch(string(text), -1) {
			named = append(named, found[1])
		}
	}
	slices.Sort(named)
	if diff := gocmp.Diff(slices.Compact(named), Components); diff != "" {
		t.Errorf("components (-package core +list):\n%s", diff)
	}
}
