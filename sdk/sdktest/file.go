package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// FetchFile calls the channel's FetchFile and reads the file. The error is a [*chat.FileError] if the channel failed, and a
// gRPC error if the plugin did.
func (h *Harness) FetchFile(ctx context.Context, token chat.FileToken) ([]byte, error) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := h.channel.FetchFile(ctx, &pluginv1.FetchFileRequest{Token: string(token), MaxBytes: maxFile})
	if err != nil {
		return nil, h.note(err)
	}
	for content := []byte{}; ; {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return content, nil
		case err != nil:
			return nil, h.note(err)
		case r.GetFailure() != nil:
			return nil, h.note(wire.FileErrorFromProto(r.GetFailure()))
		}
		if content = append(content, r.GetChunk()...); len(content) > maxFile {
			return nil, fmt.Errorf("the file has more than %d bytes", maxFile)
		}
	}
}

// Content returns the content of a file that the channel has submitted: from the host's media store, or by its token. Like
// a host, it retries after a temporary error.
func (h *Harness) Content(m chat.Media) ([]byte, error) {
	h.t.Helper()
	switch {
	case m.Ref != "":
		content, ok := h.Host.File(m.Ref)
		if !ok {
			return nil, fmt.Errorf("the host has no file %q", m.Ref)
		}
		return content, nil
	case m.Problem != "":
		return nil, &chat.FileError{Problem: m.Problem}
	case m.Token == "":
		return nil, errors.New("the file has neither a ref nor a token")
	}
	var content []byte
	var err error
	for range polls {
		content, err = h.FetchFile(h.t.Context(), m.Token)
		if failed, ok := errors.AsType[*chat.FileError](err); !ok || failed.Problem != "" {
			break
		}
	}
	return content, err
}
