package remote_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

func (n *nasty) FetchFile(r *pluginv1.FetchFileRequest, stream grpc.ServerStreamingServer[pluginv1.FetchFileResponse]) error {
	n.requests = append(n.requests, r)
	for _, part := range n.parts {
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	return n.err
}

// Behaviour: file-retry.
func TestFetchFile(t *testing.T) {
	t.Parallel()
	chunk := func(text string) *pluginv1.FetchFileResponse {
		return &pluginv1.FetchFileResponse{Part: &pluginv1.FetchFileResponse_Chunk{Chunk: []byte(text)}}
	}
	failure := func(f *pluginv1.FetchFailure) *pluginv1.FetchFileResponse {
		return &pluginv1.FetchFileResponse{Part: &pluginv1.FetchFileResponse_Failure{Failure: f}}
	}
	for name, tc := range map[string]struct {
		parts []*pluginv1.FetchFileResponse
		err   error
		want  string
		fails func(error) bool // nil: it does not
	}{
		"a file":         {parts: []*pluginv1.FetchFileResponse{chunk("one"), chunk(""), chunk(" two")}, want: "one two"},
		"an empty one":   {},
		"a cut one":      {parts: []*pluginv1.FetchFileResponse{chunk("one")}, err: status.Error(codes.Unavailable, "gone"), want: "one", fails: func(err error) bool { return errors.Is(err, remote.ErrGone) }},
		"an old plugin":  {err: status.Error(codes.Unimplemented, "no such call"), fails: func(err error) bool { return errors.Is(err, errors.ErrUnsupported) }},
		"an empty part":  {parts: []*pluginv1.FetchFileResponse{{}}, fails: func(err error) bool { return err != nil }},
		"a huge part":    {parts: []*pluginv1.FetchFileResponse{chunk(strings.Repeat("x", 2<<20))}, fails: func(err error) bool { return err != nil }},
		"a failure":      {parts: []*pluginv1.FetchFileResponse{chunk("one"), failure(&pluginv1.FetchFailure{Problem: "is gone", Message: "404"})}, want: "one", fails: fails("is gone", 0)},
		"one that waits": {parts: []*pluginv1.FetchFileResponse{failure(&pluginv1.FetchFailure{RetryAfter: durationpb.New(time.Minute)})}, fails: fails("", time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &nasty{parts: tc.parts, err: tc.err}
			plugin, _ := connect(t, n)
			file, err := plugin.FetchFile(t.Context(), "token", 100)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			content, err := io.ReadAll(file)
			if string(content) != tc.want || (err == nil) != (tc.fails == nil) || err != nil && !tc.fails(err) {
				t.Errorf("it has %q, %v", content, err)
			}
			if r, ok := n.requests[0].(*pluginv1.FetchFileRequest); !ok || r.GetToken() != "token" || r.GetMaxBytes() != 100 {
				t.Errorf("the plugin was asked for %v", n.requests)
			}
		})
	}
}

func fails(problem string, after time.Duration) func(error) bool {
	return func(err error) bool {
		failed, ok := errors.AsType[*chat.FileError](err)
		return ok && failed.Problem == problem && failed.RetryAfter == after
	}
}
