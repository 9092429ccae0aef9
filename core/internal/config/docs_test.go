package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page documents every name that the file may hold, once, and no other.
func TestEveryNameIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	built, refused, found := strings.Cut(string(page), "## Not supported yet")
	if !found {
		t.Fatal("the page does not say what is not supported yet")
	}
	documented := []string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|").FindAllStringSubmatch(built, -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(knownNames())), documented); diff != "" {
		t.Errorf("documented names (-decoded +documented):\n%s", diff)
	}

	listed := []string{}
	for _, name := range regexp.MustCompile("`([a-z0-9_.]+)`").FindAllStringSubmatch(refused, -1) {
		listed = append(listed, name[1])
	}
	want := slices.Clone(unbuiltBlocks)
	for _, g := range unbuilt {
		if !g.takesSomething() {
			want = append(want, g.name)
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("names not supported yet (-decoded +documented):\n%s", diff)
	}
}

func (g gap) takesSomething() bool { return g.is != nil || g.later != nil }

// knownNames are the arguments that the decoder takes.
func knownNames() map[string]bool {
	names := map[string]bool{}
	var walk func(b block)
	walk = func(b block) {
		for _, name := range b.attrNames() {
			if g := gapAt(b.path, name); g == nil || g.takesSomething() {
				names[dotted(b.path, name)] = true
			}
		}
		for _, c := range b.blocks {
			walk(c.holds("label"))
		}
	}
	walk(defaults().fileBlock(nil))
	return names
}
