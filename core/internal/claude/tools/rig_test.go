package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/docs"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// rig is a server with what it works with.
type rig struct {
	*tools.Server
	options tools.Options
	logs    *strings.Builder

	mu       sync.Mutex
	sessions []domain.Session
	history  map[string][]chat.TranscriptEntry
	posts    []tools.Post
	uses     []domain.ToolUse
	postErr  error
	number   int64 // of what is posted
	changes  []tools.Change
	acts     []string
	members  chat.Members
	asked    []string // for members
	hidden   error    // why there are no members
}

// newRig returns a server of a host with a few enabled plugins. None of them runs.
func newRig(t testing.TB, change ...func(*tools.Options)) *rig {
	t.Helper()
	r := &rig{history: map[string][]chat.TranscriptEntry{}, logs: &strings.Builder{}}
	r.options = tools.Options{
		Version: "1.2.3", Store: r, Plugins: plugintest.Registry("memory", "webchat", "p", "gw", "weather", "a", "a_b", "b", "discord"),
		Intake: r, Manual: docs.Pages,
	}
	for _, c := range change {
		c(&r.options)
	}
	owners := config.Access{
		Owners: []string{"telegram:anna", "webchat:anna", "discord:anna", "discord:77"},
		Groups: "allowlist", Group: map[string]config.Group{"listed": {}},
	}
	links := config.Session{IdentityLinks: map[string][]string{"anna": {"telegram:anna", "discord:a"}, "bob": {"telegram:bob", "discord:b"}}}
	r.options.Conversations = conversation.NewResolver(&config.Config{Settings: config.Settings{Access: owners, Session: links}}, r.options.Plugins, unmoved{})
	r.Server = tools.New(r.options, hclog.New(&hclog.LoggerOptions{Output: r.logs, Level: hclog.Debug, Mutex: &r.mu}))
	return r
}

// unmoved are chats that have their first ids.
type unmoved struct{}

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

// stored returns a store with files of a plugin, and their ids.
func stored(t testing.TB, plugin string, contents ...string) (kept *files.Store, refs []chat.MediaRef) {
	t.Helper()
	kept = files.NewStore(files.Options{Dir: filepath.Join(t.TempDir(), "media"), Rows: &mediatest.Rows{}, MaxBytes: 10 << 20})
	for _, content := range contents {
		m, err := kept.Put(t.Context(), plugin, chat.Media{}, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, m.Ref)
	}
	return kept, refs
}

func (r *rig) NoteToolUse(_ context.Context, session string, u domain.ToolUse) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	u.Took, u.At, u.Turn = 0, time.Time{}, u.Turn+" of "+session
	r.uses = append(r.uses, u)
	return nil
}

// Turn is the server for a turn whose messages are kept, and whose calls may take a minute.
func (r *rig) Turn(id string, caller chat.Caller) *tools.Turn {
	of := &conversation.Conversation{Caller: caller, Agent: &config.Agent{Claude: config.Claude{ToolTimeout: time.Minute}}}
	return r.Server.Turn(id, of, r)
}

func (r *rig) Post(_ context.Context, p tools.Post) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.postErr == nil {
		r.posts = append(r.posts, p)
	}
	return r.number, r.postErr
}

func (r *rig) Change(_ context.Context, c tools.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.postErr == nil {
		r.changes = append(r.changes, c)
	}
	return r.postErr
}

func (r *rig) FromAgent(_ context.Context, id domain.Key, s domain.Session, m domain.Message, reset bool) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, fmt.Sprintf("%s %q %q %t %t", s.Key, m.Text, m.Origin, m.Sender.IsBot, reset))
	return id != (domain.Key{}), nil
}

// groups is a channel that lists the members of a rig.
type groups struct {
	plugintest.Idle

	rig *rig
}

func (g groups) Members(_ context.Context, of chat.Address, limit int) (chat.Members, error) {
	r := g.rig
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fmt.Sprintf("%s/%s/%s: %d", of.Channel, of.Chat, of.Thread, limit))
	return r.members, r.hidden
}

// run has a plugin with tools run from now on.
func (r *rig) run(t testing.TB, name string, f *fake) *plugintest.Process {
	t.Helper()
	p := plugintest.Start(t, name, plugintest.Service(f))
	p.Handle("ListTools", f.list)
	p.Handle("CallTool", f.answer)
	p.Enter(r.options.Plugins)
	return p
}

func (r *rig) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.String()
}

func (r *rig) Session(_ context.Context, key string) (domain.Session, error) {
	i := slices.IndexFunc(r.sessions, func(s domain.Session) bool { return s.Key == key })
	if i < 0 {
		return domain.Session{}, domain.ErrNotFound
	}
	return r.sessions[i], nil
}

func (r *rig) Sessions(_ context.Context, after string, limit int) (list []domain.Session, err error) {
	for _, s := range r.sessions {
		if s.Key > after && len(list) < limit {
			list = append(list, s)
		}
	}
	return list, nil
}

func (r *rig) Transcript(_ context.Context, session string, _ int64, limit int) ([]chat.TranscriptEntry, error) {
	all, ok := r.history[session]
	if !ok {
		return nil, errors.New("the disk at /secret/path is broken")
	}
	return all[max(0, len(all)-limit):], nil
}

// fake is a plugin that offers whatever tools, and answers their calls.
type fake struct {
	specs []chat.ToolSpec
	err   error
	call  func(context.Context, chat.ToolCall) (chat.ToolResult, error)

	mu     sync.Mutex
	listed int
	called []chat.ToolCall
}

func offering(names ...string) *fake {
	f := &fake{}
	for _, name := range names {
		f.specs = append(f.specs, chat.ToolSpec{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return f
}

// Tools implements [sdk.Toolbox]. The tools are in specs.
func (*fake) Tools() []sdk.AgentTool { return nil }

func (f *fake) list(context.Context, any) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed++
	list := &pluginv1.ListToolsResponse{}
	for _, spec := range f.specs {
		list.Tools = append(list.Tools, wire.ToolSpecToProto(spec))
	}
	return list, f.err
}

func (f *fake) answer(ctx context.Context, request any) (any, error) {
	call, err := wire.ToolCallFromProto(request.(*pluginv1.CallToolRequest))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.called = append(f.called, call)
	f.mu.Unlock()
	result := chat.ToolResult{Text: "did " + call.Name}
	if f.call != nil {
		result, err = f.call(ctx, call)
	}
	return wire.ToolResultToProto(result), err
}

var anna = chat.Caller{
	Session: "telegram:anna", Address: chat.Address{Channel: "telegram", Chat: "anna"}, Kind: chat.Direct,
	Sender: chat.Sender{ID: "anna"}, Authority: chat.Owner,
}

// result is a tool's result as Claude reads it.
type result struct {
	Content []struct{ Type, Text, Data, MIMEType string }
	IsError bool
}

// text joins the texts.
func (r result) text() string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// reply is what a message is answered with.
type reply struct {
	JSONRPC string
	ID      json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
	}
}

func handle(t testing.TB, turn *tools.Turn, message string) reply {
	t.Helper()
	raw, err := turn.Handle(t.Context(), json.RawMessage(message))
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	var r reply
	if raw != nil {
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: the answer %s is no JSON: %v", message, raw, err)
		}
	}
	return r
}

// use has the agent use a tool.
func use(t testing.TB, turn *tools.Turn, tool, arguments string) result {
	t.Helper()
	r := handle(t, turn, calling(1, tool, arguments))
	if r.Error != nil {
		t.Fatalf("%s %s: %s", tool, arguments, r.Error.Message)
	}
	return read(t, r.Result)
}

func read(t testing.TB, raw json.RawMessage) (r result) {
	t.Helper()
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func calling(id int, tool, arguments string) string {
	params := map[string]any{"name": tool, "arguments": json.RawMessage(arguments), "_meta": map[string]any{"claudecode/toolUseId": "toolu_1", "progressToken": 2}}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// names are the tools that are offered.
func names(t testing.TB, turn *tools.Turn) (names []string) {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(handle(t, turn, `{"method":"tools/list","jsonrpc":"2.0","id":1}`).Result, &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}
