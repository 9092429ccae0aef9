package remote

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// The deadlines of what a plugin serves.
const (
	wakeUpTimeout = time.Minute
	cliTimeout    = time.Minute
	httpTimeout   = 30 * time.Second
)

// WakeUp calls the plugin for a wake-up, within a minute. Nil means that the wake-up is done.
func (p *Plugin) WakeUp(ctx context.Context, key string, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, wakeUpTimeout)
	defer cancel()
	_, err := p.waker.WakeUp(ctx, &pluginv1.WakeUpRequest{Key: key, At: timestamppb.New(at)})
	return translate(err)
}

// CLICall is one use of a plugin on the command line.
type CLICall struct {
	Args  []string
	Stdin []byte
	Width int // of the terminal in columns; zero: it is none
}

// RunCLI has the plugin answer a command line, within a minute. What it prints has no control characters but newlines and tabs.
func (p *Plugin) RunCLI(ctx context.Context, c CLICall) (stdout, stderr string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, cliTimeout)
	defer cancel()
	r, err := p.cli.RunCli(ctx, &pluginv1.RunCliRequest{Args: c.Args, Stdin: c.Stdin, Width: uint32(max(0, c.Width))})
	if err != nil {
		return "", "", 0, translate(err)
	}
	stdout, stderr, code = wire.CLIResultFromProto(r)
	return stdout, stderr, code, nil
}

// ServeHTTP has the plugin answer a request, within 30 seconds. The caller checks the response.
func (p *Plugin) ServeHTTP(ctx context.Context, r *pluginv1.ServeRequest) (*pluginv1.ServeResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	response, err := p.http.Serve(ctx, r)
	return response, translate(err)
}
