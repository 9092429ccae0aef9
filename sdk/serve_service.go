package sdk

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// wakerServer serves the plugin's wake-ups.
type wakerServer struct {
	pluginv1.UnimplementedWakerServer
	*plugin

	calling chan struct{} // has a value while a call is made: the host repeats a call that takes too long
}

// WakeUp calls the component that is a [Waker].
func (s *wakerServer) WakeUp(ctx context.Context, r *pluginv1.WakeUpRequest) (*pluginv1.WakeUpResponse, error) {
	waker, ok := find[Waker](s.plugin, pluginv1.Capability_CAPABILITY_WAKE_UP)
	if !ok {
		return nil, errNotConfigured
	}
	select {
	case s.calling <- struct{}{}:
		defer func() { <-s.calling }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := waker.WakeUp(ctx, WakeUp{Key: r.GetKey(), At: r.GetAt().AsTime()}); err != nil {
		return nil, err
	}
	return &pluginv1.WakeUpResponse{}, nil
}

// cliServer serves the plugin's commands on the command line.
type cliServer struct {
	pluginv1.UnimplementedCliServer
	*plugin
}

// RunCli calls the component that is a [CLI]. The config's secrets are redacted in an error, which is printed.
func (s *cliServer) RunCli(ctx context.Context, r *pluginv1.RunCliRequest) (*pluginv1.RunCliResponse, error) {
	cli, ok := find[CLI](s.plugin, pluginv1.Capability_CAPABILITY_CLI)
	if !ok {
		return nil, errNotConfigured
	}
	result, err := cli.RunCLI(ctx, CLICall{Args: r.GetArgs(), Stdin: r.GetStdin(), Width: int(r.GetWidth())})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		result.Stderr += s.redact.text(err.Error()) + "\n"
		result.Code = max(result.Code, 1)
	}
	return wire.CLIResultToProto(result.Stdout, result.Stderr, result.Code), nil
}

// httpServer serves the plugin's HTTP requests.
type httpServer struct {
	pluginv1.UnimplementedHttpServer
	*plugin
}

// Serve calls the handler of the component that is an [HTTPServer].
func (s *httpServer) Serve(ctx context.Context, r *pluginv1.ServeRequest) (*pluginv1.ServeResponse, error) {
	server, ok := find[HTTPServer](s.plugin, pluginv1.Capability_CAPABILITY_HTTP)
	if !ok {
		return nil, errNotConfigured
	}
	address := &url.URL{RawQuery: r.GetQuery()}
	var err error
	if address.Path, err = url.PathUnescape(r.GetPath()); err != nil || !strings.HasPrefix(address.Path, "/") {
		return nil, status.Errorf(codes.InvalidArgument, "path: %q is none", wire.Cut(r.GetPath(), wire.MaxDetail))
	}
	address.RawPath = r.GetPath()
	request, err := http.NewRequestWithContext(ctx, r.GetMethod(), address.String(), bytes.NewReader(r.GetBody()))
	if err != nil {
		return nil, invalid(err)
	}
	request.URL, request.RequestURI, request.RemoteAddr = address, address.RequestURI(), r.GetRemoteAddress()
	for _, h := range r.GetHeaders() {
		request.Header.Add(h.GetName(), h.GetValue())
	}
	request.Host = request.Header.Get("Host")
	request.Header.Del("Host")
	answer := &response{header: http.Header{}}
	server.HTTPHandler().ServeHTTP(answer, request)
	if answer.body.Len() > wire.MaxBody {
		return nil, status.Error(codes.Aborted, errTooLarge.Error())
	}
	return answer.toProto(), nil
}

// response collects what a handler writes.
type response struct {
	header http.Header
	sent   http.Header // as it was when the handler began to write; nil: it has not
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	if w.sent == nil && status >= http.StatusOK {
		w.sent, w.status = w.header.Clone(), status
	}
}

// Write implements [io.Writer]. It fails beyond the limit, of which the body has one byte, by which that is recognised.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.sent.Get("Content-Type") == "" && len(p) > 0 && w.body.Len() == 0 {
		w.sent.Set("Content-Type", http.DetectContentType(p))
	}
	n, _ := w.body.Write(p[:min(len(p), wire.MaxBody+1-w.body.Len())])
	if n < len(p) {
		return n, errTooLarge
	}
	return n, nil
}

// errTooLarge ends a handler that writes on and on.
var errTooLarge = fmt.Errorf("the response has more than %d bytes", wire.MaxBody)

func (w *response) toProto() *pluginv1.ServeResponse {
	w.WriteHeader(http.StatusOK)
	r := &pluginv1.ServeResponse{Status: uint32(w.status), Body: w.body.Bytes()}
	for name, values := range w.sent {
		for _, value := range values {
			r.Headers = append(r.Headers, &pluginv1.HttpHeader{Name: wire.Repair(name), Value: wire.Repair(value)})
		}
	}
	return r
}
