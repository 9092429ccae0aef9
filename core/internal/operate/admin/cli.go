package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxCLIRequest bounds the request for a plugin's command line, in bytes: the input in base 64, and the arguments.
const maxCLIRequest = 2*wire.MaxOutput + 2*wire.MaxArgs

// CLIRequest is one use of a plugin on the command line.
type CLIRequest struct {
	Plugin string   `json:"plugin"`
	Args   []string `json:"args"`
	Stdin  []byte   `json:"stdin"`
	Width  int      `json:"width"` // of the terminal in columns; zero: it is none
}

// CLIAnswer is what the command line prints.
type CLIAnswer struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Code   int    `json:"code"`
}

// cli has a plugin answer a command line.
func (s *Server) cli(r *http.Request) (any, error) {
	var c CLIRequest
	r.Body = http.MaxBytesReader(nil, r.Body, maxCLIRequest)
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return nil, fmt.Errorf("read the command line: %w", err)
	}
	size := 0
	for _, arg := range c.Args {
		size += len(arg)
	}
	if size > wire.MaxArgs || len(c.Stdin) > wire.MaxOutput {
		return nil, gateway.Refusal{Text: fmt.Sprintf("a plugin's command line has at most %d KiB of arguments and %d KiB of input",
			wire.MaxArgs>>10, wire.MaxOutput>>10)}
	}
	p, err := s.served(c.Plugin, remote.CLI, "has no commands of its own")
	if err != nil {
		return nil, err
	}
	var out CLIAnswer
	out.Stdout, out.Stderr, out.Code, err = p.RunCLI(r.Context(), remote.CLICall{Args: c.Args, Stdin: c.Stdin, Width: c.Width})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the plugin %s has not answered in time", c.Plugin)
	}
	return out, err
}

// served returns the running plugin that can do something. Its errors are for people.
func (s *Server) served(name string, can remote.Capability, cannot string) (*remote.Plugin, error) {
	plugins := s.options.Host.Plugins
	if !plugins.Enabled(name) {
		return nil, missing(fmt.Sprintf("no plugin %q is enabled", name))
	}
	p, running := plugins.Get(name)
	switch {
	case !running:
		return nil, gateway.Refusal{Text: fmt.Sprintf("the plugin %s does not run; `clawhost plugin list` says why", name)}
	case !p.Can(can):
		return nil, missing(fmt.Sprintf("the plugin %s %s", name, cannot))
	}
	return p.Plugin, nil
}

// CLI uses a plugin on the command line.
func (c *Client) CLI(ctx context.Context, r CLIRequest) (out CLIAnswer, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return out, err
	}
	stream, err := c.stream(ctx, http.MethodPost, "/v1/plugins/cli", http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	defer stream.Close()
	if err := json.NewDecoder(stream).Decode(&out); err != nil {
		return out, fmt.Errorf("read the host's answer: %w", err)
	}
	return out, nil
}
