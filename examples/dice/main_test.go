package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func newHarness(t *testing.T) *sdktest.Harness {
	t.Helper()
	h := sdktest.New(t, sdk.Command(spec, roll))
	h.Configure(nil)
	return h
}

var numbers = regexp.MustCompile(`\d+`)

func TestRoll(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for args, want := range map[string]struct{ dice, sides int }{
		"": {1, 6}, "2d6": {2, 6}, "d20": {1, 20}, " 3D2 ": {3, 2}, "100d1000": {100, 1000},
	} {
		reply, err := h.Command(sdk.CommandCall{Name: "roll", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		var thrown []int
		for _, n := range numbers.FindAllString(reply, -1) {
			value, _ := strconv.Atoi(n)
			thrown = append(thrown, value)
		}
		sum := thrown[len(thrown)-1]
		if len(thrown) > 1 {
			thrown = thrown[:len(thrown)-1]
		}
		got := 0
		for _, n := range thrown {
			if n < 1 || n > want.sides {
				t.Errorf("/roll %s threw a %d", args, n)
			}
			got += n
		}
		if len(thrown) != want.dice || got != sum {
			t.Errorf("/roll %s answers %q: %d dice that sum up to %d", args, reply, len(thrown), got)
		}
	}
}

// TestRollReachesEverySide fails by chance less than once in 10^15 runs.
func TestRollReachesEverySide(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	seen := map[string]bool{}
	for range 2 {
		reply, err := h.Command(sdk.CommandCall{Name: "roll", Args: "100d6"})
		if err != nil {
			t.Fatal(err)
		}
		thrown, _, _ := strings.Cut(reply, "=")
		for _, n := range numbers.FindAllString(thrown, -1) {
			seen[n] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("200 throws showed the sides %v", seen)
	}
}

func TestNonsenseGetsHelp(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, args := range []string{"two", "0d6", "101d6", "1d1", "1d1001", "-1d6", "1d", "2d6d6", "2d6; rm -rf /", "99999999999999999999d6"} {
		if reply, err := h.Command(sdk.CommandCall{Name: "roll", Args: args}); reply != help || err != nil {
			t.Errorf("/roll %s answers %q, %v", args, reply, err)
		}
	}
}
