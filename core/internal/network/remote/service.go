package remote

import (
	"context"
	"errors"
	"net/http"
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

// HTTPRequest is a request by HTTP for a plugin.
type HTTPRequest struct {
	Method  string
	Host    string
	Path    string // encoded; it begins with a slash
	Query   string
	Header  http.Header
	Body    []byte
	Address string // of who sent it
}

// HTTPResponse is a plugin's response to one.
type HTTPResponse struct {
	Status int // 200 to 599
	Header http.Header
	Body   []byte
}

// ServeHTTP has the plugin answer a request, within 30 seconds.
func (p *Plugin) ServeHTTP(ctx context.Context, r HTTPRequest) (HTTPResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	request := &pluginv1.ServeRequest{
		Method: wire.Repair(r.Method), Path: wire.Repair(r.Path), Query: wire.Repair(r.Query), Body: r.Body, RemoteAddress: r.Address,
		Headers: []*pluginv1.HttpHeader{{Name: "Host", Value: wire.Repair(r.Host)}},
	}
	for name, values := range r.Header {
		for _, value := range values {
			request.Headers = append(request.Headers, &pluginv1.HttpHeader{Name: wire.Repair(name), Value: wire.Repair(value)})
		}
	}
	answer, err := p.http.Serve(ctx, request)
	if err != nil {
		return HTTPResponse{}, translate(err)
	}
	response, size := HTTPResponse{Status: int(answer.GetStatus()), Header: http.Header{}, Body: answer.GetBody()}, 0
	for _, h := range answer.GetHeaders() {
		size += len(h.GetName()) + len(h.GetValue())
		response.Header.Add(h.GetName(), h.GetValue())
	}
	switch {
	case response.Status < http.StatusOK || response.Status > 599:
		return HTTPResponse{}, errors.New("the status of the plugin's response is not one of 200 to 599")
	case size > wire.MaxHeaders:
		return HTTPResponse{}, errors.New("the plugin's response has too many headers")
	case len(response.Body) > wire.MaxBody:
		return HTTPResponse{}, errors.New("the plugin's response is too large")
	}
	return response, nil
}
