package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxTools and maxBytes limit what the tools add to each request of the agent.
	maxTools = 100
	maxBytes = 256 << 10
	// maxName is the maximum length of a name: with the prefix mcp__clawhost__ it has 64 bytes, the limit of the Messages
	// API.
	maxName = 64 - len("mcp__"+Name+"__")
	// askAgain is the wait before a plugin that could not list its tools is asked again.
	askAgain = 30 * time.Second
)

// known is a plugin's list of tools.
type known struct {
	live  *plugins.Plugin // the process that was asked
	tools []chat.ToolSpec
	again time.Time // when to ask again; zero: never
}

// offered is a tool under the agent's name for it.
type offered struct {
	name   string
	spec   chat.ToolSpec
	plugin string   // empty: the host's own
	own    *ownTool // nil: a plugin's
}

// offer is the set of tools for the agent.
type offer struct {
	tools       []offered // by name
	list        json.RawMessage
	fingerprint string
}

// Fingerprint identifies the current set of tools: it changes with the set. It asks newly started plugins for their tools;
// the tools of a plugin that is down stay in the set.
func (s *Server) Fingerprint(ctx context.Context) string { return s.current(ctx).fingerprint }

// current returns the offer, or an older one if ctx ends first.
func (s *Server) current(ctx context.Context) *offer {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return &offer{list: json.RawMessage("[]")}
	}
	if s.ask(ctx) || s.offer == nil {
		s.offer = s.compose()
	}
	return s.offer
}

// ask lists the tools of new processes of plugins, and reports whether there were any.
func (s *Server) ask(ctx context.Context) (changed bool) {
	now := time.Now()
	var asked []*plugins.Plugin
	for _, e := range s.options.Plugins.Entries() {
		p, k := e.Running(), s.known[e.Config().Label]
		switch {
		case p == nil || p == k.live && (k.again.IsZero() || !now.After(k.again)):
		case p.Can(remote.Tools):
			asked = append(asked, p)
		default:
			s.known[p.Name], changed = known{live: p}, true
		}
	}
	lists, errs := make([][]chat.ToolSpec, len(asked)), make([]error, len(asked))
	var calls sync.WaitGroup
	for i, p := range asked {
		calls.Go(func() { lists[i], errs[i] = p.ListTools(ctx) })
	}
	calls.Wait()
	for i, p := range asked {
		switch {
		case errs[i] == nil:
			s.known[p.Name] = known{live: p, tools: lists[i]}
			changed = true
		case ctx.Err() == nil:
			s.log.Warn("the tools of a plugin cannot be listed", "plugin", p.Name, "error", errs[i])
			s.known[p.Name] = known{live: p, tools: s.known[p.Name].tools, again: now.Add(askAgain)}
		}
	}
	return changed
}

// compose builds the offer. If two tools have the same name the first keeps it: the host's own, then in the order of the
// plugins.
func (s *Server) compose() *offer {
	var all []offered
	for i := range s.own {
		all = append(all, offered{name: s.own[i].spec.Name, spec: s.own[i].spec, own: &s.own[i]})
	}
	for _, name := range s.options.Plugins.Names() {
		for _, spec := range s.known[name].tools {
			all = append(all, offered{name: toolName(name, spec.Name), spec: spec, plugin: name})
		}
	}
	o, names, size, logged := &offer{}, map[string]offered{}, 0, map[string]bool{}
	for _, t := range all {
		why := ""
		first, clash := names[t.name]
		size += len(t.spec.Description) + len(t.spec.InputSchema)
		switch {
		case clash:
			why = fmt.Sprintf("%s is called %s, and so is %s", t, t.name, first)
		case len(o.tools) == maxTools:
			why = fmt.Sprintf("%s is one too many: the agent is offered %d at most", t, maxTools)
		case size > maxBytes:
			why = fmt.Sprintf("%s is too much: the descriptions and schemas of all tools have at most %d bytes", t, maxBytes)
			size -= len(t.spec.Description) + len(t.spec.InputSchema)
		}
		if why == "" {
			names[t.name] = t
			o.tools = append(o.tools, t)
			continue
		}
		if logged[why] = true; !s.logged[why] {
			s.log.Warn("a tool is left out", "reason", why)
		}
	}
	s.logged = logged
	slices.SortFunc(o.tools, func(a, b offered) int { return cmp.Compare(a.name, b.name) })
	o.list = listed(o.tools)
	sum := sha256.Sum256(o.list)
	o.fingerprint = hex.EncodeToString(sum[:8])
	return o
}

// String describes the tool to the operator.
func (t offered) String() string {
	if t.plugin == "" {
		return fmt.Sprintf("the host's tool %q", t.spec.Name)
	}
	return fmt.Sprintf("the tool %q of the plugin %q", t.spec.Name, t.plugin)
}

// toolName returns the agent's name for a plugin's tool.
func toolName(plugin, tool string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, plugin+"_"+tool)
	return name[:min(len(name), maxName)]
}

// listed returns the offer in MCP's format.
func listed(tools []offered) json.RawMessage {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	list := make([]tool, len(tools))
	for i, t := range tools {
		list[i] = tool{Name: t.name, Description: t.spec.Description, InputSchema: t.spec.InputSchema}
	}
	return encode(list)
}

// offers reports whether the turn's group uses a tool, by its name.
func (t *Turn) offers(name string) bool { return agent.Profile{Only: t.only}.Allows(fullName(name)) }

// fullName returns the name by which Claude Code knows a tool.
func fullName(tool string) string { return "mcp__" + Name + "__" + tool }

// list returns the tools that the turn is offered, in MCP's format.
func (t *Turn) list(ctx context.Context) json.RawMessage {
	o := t.server.current(ctx)
	if t.only == "" {
		return o.list
	}
	return listed(slices.DeleteFunc(slices.Clone(o.tools), func(tool offered) bool { return !t.offers(tool.name) }))
}

// find returns the tool with a name.
func (o *offer) find(name string) (offered, bool) {
	i, ok := slices.BinarySearchFunc(o.tools, name, func(t offered, name string) int { return cmp.Compare(t.name, name) })
	if !ok {
		return offered{}, false
	}
	return o.tools[i], true
}

// Remembering returns the names, as the agent knows them, of the tools that write the memory of a conversation in a kind of chat, of
// those that the conversation uses.
func (s *Server) Remembering(ctx context.Context, in chat.Kind, only config.Patterns) []string {
	var names []string
	for _, tool := range s.current(ctx).tools {
		name := fullName(tool.name)
		if slices.Contains(tool.spec.Remembers, in) && (agent.Profile{Only: only}).Allows(name) {
			names = append(names, name)
		}
	}
	return names
}

// Offered returns the names of the current tools, without prefix, by the plugin that they are from; the host's are under "".
func (s *Server) Offered(ctx context.Context) map[string][]string {
	names := map[string][]string{}
	for _, tool := range s.current(ctx).tools {
		names[tool.plugin] = append(names[tool.plugin], tool.name)
	}
	return names
}
