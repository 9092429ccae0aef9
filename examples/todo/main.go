// Command todo is a tool plugin: the agent keeps a list of things to do for each chat.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

type config struct {
	Most int `json:"most" default:"50" jsonschema:"How many things a list may have."`
}

func main() { sdk.Serve("todo", "0.1.0", sdk.Service(open)) }

// lists are the lists of all chats, in the host's state.
type lists struct {
	most  int
	state sdk.State
	mu    sync.Mutex // the tools of one turn are called side by side
}

func open(_ context.Context, env sdk.Env, c config) (*lists, error) {
	if c.Most < 1 {
		return nil, sdk.ConfigError("most", errors.New("must be at least 1"))
	}
	return &lists{most: c.Most, state: env.State}, nil
}

func (l *lists) Tools() []sdk.AgentTool {
	return []sdk.AgentTool{
		sdk.Tool("list", "Shows what there is to do in this chat, with a number for each thing.", l.list),
		sdk.Tool("add", "Adds a thing to do. Returns the new list.", l.add),
		sdk.Tool("done", "Takes a thing that is done from the list. Returns the new list.", l.done),
	}
}

func (l *lists) list(ctx context.Context, call sdk.ToolCall, _ struct{}) (string, error) {
	return l.change(ctx, call, func(list []string) ([]string, error) { return list, nil })
}

type addIn struct {
	Text string `json:"text" jsonschema:"What to do, in one line."`
}

func (l *lists) add(ctx context.Context, call sdk.ToolCall, in addIn) (string, error) {
	return l.change(ctx, call, func(list []string) ([]string, error) {
		text := strings.Join(strings.Fields(in.Text), " ")
		switch {
		case text == "":
			return nil, errors.New("the text is empty")
		case len(list) >= l.most:
			return nil, fmt.Errorf("the list has %d things already: ask what can be dropped", len(list))
		}
		return append(list, text), nil
	})
}

type doneIn struct {
	Number int `json:"number" jsonschema:"The thing's number in the list."`
}

func (l *lists) done(ctx context.Context, call sdk.ToolCall, in doneIn) (string, error) {
	return l.change(ctx, call, func(list []string) ([]string, error) {
		switch {
		case call.Caller.Kind != chat.Direct && call.Caller.Authority < chat.Authorised:
			return nil, errors.New("whoever asks may not take things from the list of this group")
		case in.Number < 1 || in.Number > len(list):
			return nil, fmt.Errorf("there is no number %d: show the list first", in.Number)
		}
		return slices.Delete(list, in.Number-1, in.Number), nil
	})
}

// change changes the list of the call's session and returns it as the model reads it.
func (l *lists) change(ctx context.Context, call sdk.ToolCall, change func([]string) ([]string, error)) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(call.Caller.Session))) // a session's key may be longer than a key of State
	var before []string
	raw, _, err := l.state.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(raw, &before)
	}
	if err != nil && !errors.Is(err, sdk.ErrNotFound) {
		return "", err
	}
	after, err := change(slices.Clone(before))
	if err != nil {
		return "", err
	}
	if !slices.Equal(before, after) {
		if raw, err = json.Marshal(after); err != nil {
			return "", err
		}
		if _, err := l.state.Put(ctx, key, raw); err != nil {
			return "", err
		}
	}
	if len(after) == 0 {
		return "There is nothing to do.", nil
	}
	var b strings.Builder
	for i, text := range after {
		fmt.Fprintf(&b, "%d. %s\n", i+1, text)
	}
	return b.String(), nil
}
