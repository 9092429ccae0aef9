//go:build e2e

package tools_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// cli is the real claude with the server of one turn, over the pipe.
type cli struct {
	t     *testing.T
	stdin io.Writer
	turn  *tools.Turn

	mu       sync.Mutex
	handlers sync.WaitGroup
}

// event is a line of claude's.
type event struct {
	Type      string
	Subtype   string
	Result    string
	IsError   bool     `json:"is_error"`
	Tools     []string // of system/init
	RequestID string   `json:"request_id"`
	Request   struct {
		Subtype string
		Message json.RawMessage
		Input   json.RawMessage
	}
}

func (c *cli) write(line any) {
	raw, err := json.Marshal(line)
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.stdin.Write(append(raw, '\n')) // claude's end shows in what it does not say
}

// answer answers what claude asks.
func (c *cli) answer(ctx context.Context, e event) {
	var response any
	switch e.Request.Subtype {
	case "mcp_message":
		answer, err := c.turn.Handle(ctx, e.Request.Message)
		if err != nil {
			return
		}
		if answer == nil {
			answer = json.RawMessage(`{"jsonrpc":"2.0","result":{},"id":0}`)
		}
		response = map[string]any{"mcp_response": answer}
	case "can_use_tool":
		response = map[string]any{"behavior": "allow", "updatedInput": e.Request.Input}
	default:
		c.t.Errorf("claude asks %q", e.Request.Subtype)
	}
	c.write(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": e.RequestID, "response": response}})
}

// The real claude lists the tools, calls them, and shows the model what they answer.
// Behaviour: tools-pictures.
func TestRealClaudeUsesTheTools(t *testing.T) {
	t.Parallel()
	path := os.Getenv("CLAWHOST_CLAUDE")
	if path == "" {
		t.Fatal(`CLAWHOST_CLAUDE does not name the claude CLI: run "make e2e", which installs and names it`)
	}
	type in struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}
	var radar bytes.Buffer
	if err := png.Encode(&radar, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	kept, refs := stored(t, "weather", radar.String())
	weather := sdk.Tools(sdk.Tool("forecast", "Tells the weather.", func(_ context.Context, _ sdk.ToolCall, in in) (string, error) {
		return "sunny in " + in.City, nil
	}), sdk.Tool("radar", "Shows the clouds.", func(context.Context, sdk.ToolCall, struct{}) (sdk.ToolResult, error) {
		return sdk.ToolResult{Text: "clouds", Media: []chat.Media{{Ref: refs[0], Kind: chat.Image, MIMEType: "image/png", FileName: "radar.png"}}}, nil
	}))
	r := newRig(t, func(o *tools.Options) { o.Files = kept })
	r.sessions = chats
	plugintest.Run(t, r.options.Plugins, "weather", weather)

	call := func(name string, input map[string]any) messagesapi.ToolUse {
		return messagesapi.ToolUse{Name: "mcp__clawhost__" + name, Input: input}
	}
	api := messagesapi.New(messagesapi.Options{})
	defer api.Close()
	api.Enqueue(
		messagesapi.Reply{Tools: []messagesapi.ToolUse{
			call("weather_forecast", map[string]any{"city": "Graz"}),
			call("weather_forecast", map[string]any{"days": "two"}),
			call("message", map[string]any{"to": "discord:listed", "text": "hello there"}),
			call("message", map[string]any{"to": "telegram:bob", "text": "hello there"}),
			call("sessions", map[string]any{"action": "list", "limit": 1}),
			call("weather_radar", map[string]any{}),
		}},
		messagesapi.Reply{Text: "all done"},
	)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	home := t.TempDir()
	command := exec.CommandContext(ctx, path, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--setting-sources", "", "--strict-mcp-config", "--permission-prompt-tool", "stdio", "--tools", "Bash",
		"--mcp-config", `{"mcpServers":{"`+tools.Name+`":{"type":"sdk","name":"`+tools.Name+`"}}}`)
	command.Dir = t.TempDir()
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "ANTHROPIC_BASE_URL=" + api.URL(), "ANTHROPIC_API_KEY=x",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=0",
	}
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Wait() }() // it exits as its last turn ended, which the test knows
	defer stdin.Close()
	c := &cli{t: t, stdin: stdin, turn: r.Turn("41", anna)}
	defer c.handlers.Wait()
	c.write(map[string]any{"type": "control_request", "request_id": "r1", "request": map[string]any{"subtype": "initialize", "sdkMcpServers": []string{tools.Name}}})
	c.write(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "use your tools"}})

	var offered []string
	var last event
	for lines := bufio.NewReader(stdout); last.Type != "result"; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("claude ended: %v", err)
		}
		last = event{}
		if err := json.Unmarshal(line, &last); err != nil {
			t.Fatal(err)
		}
		switch {
		case last.Type == "control_request":
			e := last
			c.handlers.Go(func() { c.answer(ctx, e) })
		case last.Type == "system" && last.Subtype == "init":
			offered = last.Tools
		}
	}
	if last.IsError || last.Result != "all done" {
		t.Errorf("the turn ends with %+v", last)
	}
	for _, name := range []string{"message", "sessions", "weather_forecast"} {
		if !slices.Contains(offered, "mcp__clawhost__"+name) {
			t.Errorf("claude knows no tool %s, but %v", name, offered)
		}
	}
	requests := api.Messages()
	got := requests[len(requests)-1].Prompt.ToolResults()
	want := []string{
		"sunny in Graz", `The arguments do not fit: the attribute "city" is missing; days: must be an integer.`,
		"The message is on its way to discord:listed.", `You may write to no chat "telegram:bob"`, fmt.Sprintf(`{"agent":"main","of":%d,"sessions":[{`, len(chats)), "clouds",
	}
	if pictures := requests[len(requests)-1].Prompt.ToolPictures(); len(pictures) != 1 || !strings.HasPrefix(pictures[0], "image/") {
		t.Errorf("the model sees %q", pictures)
	}
	if len(got) != len(want) {
		t.Fatalf("the model reads %q", got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("result %d is %q, want %q", i, got[i], want[i])
		}
	}
	if len(r.posts) != 1 || r.posts[0].To != address("discord", "listed") {
		t.Errorf("posted %+v", r.posts)
	}
	if len(r.posts) != 1 || r.posts[0].Text != "hello there" {
		t.Errorf("posted %+v", r.posts)
	}
}
