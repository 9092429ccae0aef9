package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

var own = []string{"jobs", "manual", "members", "message", "sessions"}

// Behaviour: tools-change.
func TestToolListFollowsThePlugins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.Turn("1", anna)
	seen := map[string]string{}
	check := func(what string, more ...string) {
		t.Helper()
		want := slices.Sorted(slices.Values(append(slices.Clone(own), more...)))
		got := names(t, turn)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		// The same fingerprint for the same tools, another one for others.
		fingerprint, offer := r.Fingerprint(t.Context()), strings.Join(got, " ")
		for known, of := range seen {
			if (known == fingerprint) != (of == offer) {
				t.Errorf("%s: the fingerprint of %q is %s, that of %q %s", what, offer, fingerprint, of, known)
			}
		}
		seen[fingerprint] = offer
	}
	check("no plugin has run")
	memory := offering("search", "get")
	process := r.run(t, "memory", memory)
	r.run(t, "webchat", offering())
	check("it runs", "memory_get", "memory_search")
	check("it still runs", "memory_get", "memory_search")
	if memory.listed != 1 {
		t.Errorf("it was asked %d times", memory.listed)
	}
	process.Leave()
	check("it is down", "memory_get", "memory_search")
	r.run(t, "memory", offering("search", "get"))
	check("it is back", "memory_get", "memory_search")
	r.run(t, "memory", offering("search", "put"))
	check("it is back with another one", "memory_put", "memory_search")
	r.run(t, "memory", offering())
	check("it has none any more")
	r.run(t, "memory", offering("get"))
	check("it has one again", "memory_get")
	plugintest.Run(t, r.options.Plugins, "memory", sdk.OnMessage(func(context.Context, sdk.MessageReceived) error { return nil }))
	check("it is a plugin without tools")
}

func TestAPluginThatCannotListItsToolsIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		broken := offering("do")
		broken.err = errors.New("the tool \"x\" has no description")
		r.run(t, "p", offering("do"))
		turn := r.Turn("1", anna)
		want := append(slices.Clone(own), "p_do")
		for i := range 3 {
			if got := names(t, turn); !cmp.Equal(got, []string{"jobs", "manual", "members", "message", "p_do", "sessions"}) {
				t.Fatalf("the tools are %v", got)
			}
			if i == 0 {
				r.run(t, "p", broken)
			}
		}
		if broken.listed != 1 || strings.Count(r.log(), "has no description") != 1 {
			t.Errorf("it was asked %d times in no time; the log:\n%s", broken.listed, r.log())
		}
		broken.specs, broken.err = offering("do", "undo").specs, nil
		time.Sleep(31 * time.Second)
		if got := names(t, turn); len(got) != len(want)+1 {
			t.Errorf("later the tools are %v", got)
		}
	})
}

// Behaviour: tools-clash.
func TestClashesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := offering("b_c"), offering("c", "d")
	r.run(t, "a", first)
	r.run(t, "a_b", second)
	turn := r.Turn("1", anna)
	for range 2 {
		if got := names(t, turn); !cmp.Equal(got, []string{"a_b_c", "a_b_d", "jobs", "manual", "members", "message", "sessions"}) {
			t.Errorf("the tools are %v", got)
		}
		r.run(t, "a", first)
		r.run(t, "a_b", offering("c", "d"))
	}
	const why = `the tool \"c\" of the plugin \"a_b\" is called a_b_c, and so is the tool \"b_c\" of the plugin \"a\"`
	if strings.Count(r.log(), why) != 1 {
		t.Errorf("the log is\n%s", r.log())
	}
	if got := use(t, turn, "a_b_c", `{}`); got.text() != "did b_c" {
		t.Errorf("the tool of both answers %q", got.text())
	}
}

// Behaviour: tools-clash.
func TestToolListIsBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("t%02d", i))
	}
	r := newRig(t)
	r.run(t, "a", offering(many...))
	r.run(t, "b", offering(many...))
	if got := names(t, r.Turn("1", anna)); len(got) != 100 || !slices.Contains(got, "b_t44") || slices.Contains(got, "b_t45") {
		t.Errorf("there are %d tools", len(got))
	}
	large := offering(many[:49]...)
	for i := range large.specs {
		large.specs[i].InputSchema = json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 15<<10) + `"}`)
	}
	large.specs = append(large.specs, offering("small").specs...)
	r = newRig(t)
	r.run(t, "a", large)
	turn := r.Turn("1", anna)
	list := handle(t, turn, `{"method":"tools/list","jsonrpc":"2.0","id":1}`)
	if got := names(t, turn); len(list.Result) > 280<<10 || !slices.Contains(got, "a_small") || len(got) < 15 {
		t.Errorf("%d tools take %d bytes", len(got), len(list.Result))
	}
}

// Whatever plugins and tools are called, the names are unique, sorted, and such as the Messages API takes with what Claude
// Code puts before them.
func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(rt *rapid.T) {
		label := rapid.OneOf(rapid.StringMatching(`[a-b_-]{1,3}`), rapid.StringMatching(`[a-z0-9_-]{1,32}`), rapid.String())
		tool := rapid.OneOf(rapid.StringMatching(`[a-b_]{1,3}`), rapid.StringMatching(`[a-z0-9_]{1,32}`))
		plugins := rapid.SliceOfNDistinct(label, 0, 5, rapid.ID).Draw(rt, "plugins")
		r := newRig(t, func(o *tools.Options) { o.Plugins = plugintest.Registry(plugins...) })
		for _, name := range plugins {
			r.run(t, name, offering(rapid.SliceOfDistinct(tool, rapid.ID).Draw(rt, "tools")...))
		}
		got := names(t, r.Turn("1", anna))
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			rt.Fatalf("the names are %q", got)
		}
		for _, name := range got {
			if !form.MatchString("mcp__clawhost__" + name) {
				rt.Fatalf("a tool is called %q", name)
			}
		}
	})
}

func TestSchemasOfTheHostsTools(t *testing.T) {
	t.Parallel()
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Type       string
				Properties map[string]struct{ Description string }
			}
		}
	}
	turn := newRig(t).Turn("1", chat.Caller{})
	if err := json.Unmarshal(handle(t, turn, `{"method":"tools/list","jsonrpc":"2.0","id":1}`).Result, &list); err != nil {
		t.Fatal(err)
	}
	described := map[string]string{} // by tool and property
	for _, tool := range list.Tools {
		if tool.Description == "" || tool.InputSchema.Type != "object" || len(tool.InputSchema.Properties) == 0 {
			t.Errorf("%+v", tool)
		}
		for name, property := range tool.InputSchema.Properties {
			described[tool.Name+"."+name] = property.Description
		}
		described[tool.Name] = tool.Description
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(described)) {
		fmt.Fprintf(&text, "%s: %s\n", name, described[name])
	}
	want, err := os.ReadFile("testdata/descriptions.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("what claude reads of them (-want +got):\n%s", diff)
	}
}

// Behaviour: group-settings.
func TestAGroupIsOfferedItsTools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of := &conversation.Conversation{Caller: anna, Agent: &config.Agent{}, Tools: config.PatternsOf("mcp__clawhost__mem*", "man*")}
	turn := r.Server.Turn("1", of, r)
	if diff := cmp.Diff([]string{"manual", "members"}, names(t, turn)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	if got := use(t, turn, "sessions", `{"action":"list"}`); !got.IsError || !strings.Contains(got.text(), `There is no tool "sessions"`) {
		t.Errorf("a tool that is not offered says %q", got.text())
	}
}

// Behaviour: agent-apart.
func TestAnAgentSeesItsOwnSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sessions = []domain.Session{{Key: "telegram:anna"}, {Key: "agent:app:telegram:anna"}, {Key: "agent:app:telegram:bob"}}
	caller := anna
	caller.Session = "agent:app:telegram:anna"
	got := use(t, r.Turn("1", caller), "sessions", `{"action":"list"}`).text()
	if !strings.Contains(got, `"agent":"app","of":2`) || strings.Contains(got, `"telegram:anna"`) {
		t.Errorf("the agent app sees %s", got)
	}
	if got := use(t, r.Turn("1", caller), "sessions", `{"action":"read","session":"telegram:anna"}`); !got.IsError {
		t.Errorf("the agent app reads %s", got.text())
	}
	if got := use(t, r.Turn("1", anna), "sessions", `{"action":"list"}`).text(); strings.Contains(got, "agent:app") {
		t.Errorf("the agent main sees %s", got)
	}
}
