package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	serversFile = ".mcp.json"
	maxServers  = 20
	maxContent  = 1500 // bytes of a server's content, all of which an owner reads
)

// instance is where the store keeps decisions. No plugin can have this name.
const instance = "host/mcp"

// decision is what an owner decided about one content.
type decision struct {
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`
}

// Asked is a server of the workspace's .mcp.json.
type Asked struct {
	Server  agent.MCPServer
	Code    string // identifies its exact content
	Content string // all of it, in ASCII
	Decided bool
	Allowed bool
	By      string // who decided
}

// allowed returns the servers that an owner has allowed. Owners are asked about the undecided ones.
func (f *Folder) allowed(ctx context.Context, list []Asked) (servers []agent.MCPServer, problems []error) {
	for _, a := range list {
		a, err := f.decided(ctx, a)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: server %q: %w", serversFile, a.Server.Name, err))
		case a.Allowed:
			servers = append(servers, a.Server)
		case !a.Decided:
			f.options.Owners.Tell(domain.KeyServerAsks.Of(a.Code), wording.ServerAsks(a.Server.Name, a.Content, a.Code))
		}
	}
	return servers, problems
}

// Servers returns the servers of the workspace's .mcp.json, with what owners decided. What is left out is in the log.
func (f *Folder) Servers(ctx context.Context) []Asked {
	var list []Asked
	for _, a := range f.look().servers {
		if a, err := f.decided(ctx, a); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// Decide records an owner's decision about a server that the workspace, or another folder in which the agent has worked since the
// start, has now; false: none of them has one with this code.
func (f *Folder) Decide(ctx context.Context, code string, allow bool, by string) (name string, known bool, err error) {
	for _, folder := range f.all() {
		if name, known, err = folder.decide(ctx, code, allow, by); known || err != nil {
			return name, known, err
		}
	}
	return "", false, nil
}

// decide is [Folder.Decide] for one folder.
func (f *Folder) decide(ctx context.Context, code string, allow bool, by string) (name string, known bool, err error) {
	for _, a := range f.Servers(ctx) {
		if a.Code != code {
			continue
		}
		value, err := json.Marshal(decision{Allowed: allow, By: by})
		if err != nil {
			return "", true, err
		}
		if _, err := f.options.Store.PutState(ctx, instance, code, value, nil); err != nil {
			return "", true, fmt.Errorf("record the decision about an MCP server: %w", err)
		}
		f.log.Info("an owner decided about an MCP server of the workspace", "server", a.Server.Name, "allowed", allow,
			"by", by, "code", code)
		return a.Server.Name, true, nil
	}
	return "", false, nil
}

// servers reads the workspace's .mcp.json.
func (f *Folder) servers(folder *workspace.Folder) ([]Asked, []error) {
	data, err := readFile(folder, serversFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil && len(file.Servers) > maxServers {
		err = fmt.Errorf("it has more than %d servers", maxServers)
	}
	if err != nil {
		return nil, []error{fmt.Errorf("%s: %w", serversFile, err)}
	}
	var list []Asked
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		a, err := f.parse(name, file.Servers[name])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: server %q: %w", serversFile, name, err))
			continue
		}
		list = append(list, a)
	}
	return list, problems
}

// parse checks one server. What the host does not know of it has no effect.
func (f *Folder) parse(name string, data []byte) (Asked, error) {
	if complaint := config.ServerName(name); complaint != "" {
		return Asked{}, errors.New(complaint)
	}
	if slices.ContainsFunc(f.configured, func(s agent.MCPServer) bool { return s.Name == name }) {
		return Asked{}, errors.New("the config has one with this name, which is used")
	}
	var content struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return Asked{}, errors.New("it is not written as Claude Code's documentation says")
	}
	switch {
	case (content.Command == "") == (content.URL == ""):
		return Asked{}, errors.New(`it needs either "command" or "url"`)
	case content.Type != "" && content.Type != "stdio" && content.Type != "http":
		return Asked{}, errors.New(`its type is neither "stdio" nor "http"`)
	case content.URL != "" && !config.ServerAddress(content.URL):
		return Asked{}, errors.New("its address is not an http or https address without a user")
	}
	if content.URL != "" {
		content.Args, content.Env = nil, nil
	} else {
		content.Headers = nil
	}
	shown, err := json.Marshal(content)
	switch {
	case err != nil:
		return Asked{}, err
	case len(shown) > maxContent:
		return Asked{}, fmt.Errorf("it has more than %d bytes, which is too long to be shown", maxContent)
	case strings.Contains(string(shown), "${"):
		return Asked{}, errors.New(`it contains "${": variables are not given to a folder's servers; configure it in claude.mcp`)
	}
	a := Asked{
		Server:  agent.MCPServer{Name: name, Env: content.Env, URL: content.URL, Headers: content.Headers},
		Content: ascii(string(shown)),
	}
	if content.Command != "" {
		a.Server.Command = append([]string{content.Command}, content.Args...)
	}
	a.Code = digest(cmp.Or(f.options.CopyOf, f.options.Agent.Workspace), name, a.Content)[:32]
	return a, nil
}

// decided adds what an owner decided about a server.
func (f *Folder) decided(ctx context.Context, a Asked) (Asked, error) {
	value, _, err := f.options.Store.GetState(ctx, instance, a.Code)
	if errors.Is(err, domain.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("look up what owners decided: %w", err)
	}
	var d decision
	if err := json.Unmarshal(value, &d); err != nil {
		return a, fmt.Errorf("read what owners decided: %w", err)
	}
	a.Decided, a.Allowed, a.By = true, d.Allowed, d.By
	return a, nil
}

// ascii writes all else as escapes, so that no text looks like another one.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < unicode.MaxASCII && r >= ' ' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
