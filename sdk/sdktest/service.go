package sdktest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// WakeUp calls the plugin for a wake-up, whether it has set that or not. As a host does, it then deletes the wake-up from those of
// [Host.WakeUps], unless the plugin failed or has set it to another time.
func (h *Harness) WakeUp(w sdk.WakeUp) error {
	h.t.Helper()
	_, err := pluginv1.NewWakerClient(h.conn).WakeUp(h.t.Context(), &pluginv1.WakeUpRequest{Key: w.Key, At: timestamppb.New(w.At)})
	if err == nil {
		h.Host.awake(w)
	}
	return h.note(err)
}

// CLI uses the plugin on the command line.
func (h *Harness) CLI(call sdk.CLICall) (sdk.CLIResult, error) {
	h.t.Helper()
	r, err := pluginv1.NewCliClient(h.conn).RunCli(h.t.Context(), &pluginv1.RunCliRequest{
		Args: call.Args, Stdin: call.Stdin, Width: uint32(call.Width),
	})
	if err != nil {
		return sdk.CLIResult{}, h.note(err)
	}
	stdout, stderr, code := wire.CLIResultFromProto(r)
	return sdk.CLIResult{Stdout: stdout, Stderr: stderr, Code: code}, nil
}

// HTTP sends a request, such as one of [httptest.NewRequest], to the plugin's handler.
func (h *Harness) HTTP(r *http.Request) (*http.Response, error) {
	h.t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	request := &pluginv1.ServeRequest{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Body: body, RemoteAddress: r.RemoteAddr,
		Headers: []*pluginv1.HttpHeader{{Name: "Host", Value: r.Host}},
	}
	for name, values := range r.Header {
		for _, value := range values {
			request.Headers = append(request.Headers, &pluginv1.HttpHeader{Name: name, Value: value})
		}
	}
	answer, err := pluginv1.NewHttpClient(h.conn).Serve(h.t.Context(), request)
	if err != nil {
		return nil, h.note(err)
	}
	response := httptest.NewRecorder()
	for _, header := range answer.GetHeaders() {
		response.Header().Add(header.GetName(), header.GetValue())
	}
	response.WriteHeader(int(answer.GetStatus()))
	_, _ = bytes.NewReader(answer.GetBody()).WriteTo(response)
	return response.Result(), nil
}
