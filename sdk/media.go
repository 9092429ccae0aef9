package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// chunkBytes is how much of a file goes in one message.
const chunkBytes = 64 << 10

// hostMedia transfers files. A transfer is as slow as the network at the other end, so only the author's context ends it.
type hostMedia struct{ client pluginv1.MediaStoreClient }

// RefusedError is the error for a file that the host does not accept.
type RefusedError struct {
	Reason string // continues the sentence "it …", as Problem of [chat.Media]
}

// Error returns the reason.
func (e *RefusedError) Error() string { return "the host does not take the file: it " + e.Reason }

// FileProblem returns the Problem of a file whose upload to the host failed with err.
func FileProblem(err error) string {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Reason
	}
	if failed, ok := errors.AsType[*chat.FileError](err); ok && failed.Problem != "" {
		return failed.Problem
	}
	return "could not be fetched"
}

func (h hostMedia) Upload(ctx context.Context, m chat.Media, r io.Reader) (chat.Media, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before CloseAndRecv has returned, this cancels the upload
	stream, err := h.client.Upload(ctx)
	if err != nil {
		return chat.Media{}, hostError(ctx, "upload", err)
	}
	if err := sendFile(stream, m, r); err != nil {
		return chat.Media{}, fmt.Errorf("upload: %w", err)
	}
	response, err := stream.CloseAndRecv()
	if s := status.Convert(err); s.Code() == codes.FailedPrecondition {
		return chat.Media{}, fmt.Errorf("upload: %w", &RefusedError{Reason: s.Message()})
	}
	if err != nil {
		return chat.Media{}, hostError(ctx, "upload", err)
	}
	stored, err := wire.MediaFromProto(response.GetMedia())
	if err != nil {
		return chat.Media{}, fmt.Errorf("upload: %w", err)
	}
	return stored, nil
}

// sendFile sends the header and the chunks. It returns nil when the host has closed the stream: CloseAndRecv returns the
// cause.
func sendFile(stream grpc.ClientStreamingClient[pluginv1.UploadRequest, pluginv1.UploadResponse], m chat.Media, r io.Reader) error {
	request := &pluginv1.UploadRequest{Part: &pluginv1.UploadRequest_Header{Header: wire.MediaToProto(m)}}
	if stream.Send(request) != nil {
		return nil
	}
	for chunk := make([]byte, chunkBytes); ; {
		n, err := r.Read(chunk)
		if n > 0 && stream.Send(&pluginv1.UploadRequest{Part: &pluginv1.UploadRequest_Chunk{Chunk: chunk[:n]}}) != nil {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (h hostMedia) Download(ctx context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := h.client.Download(ctx, &pluginv1.DownloadRequest{Ref: string(ref)})
	var first *pluginv1.DownloadResponse
	if err == nil {
		first, err = stream.Recv()
	}
	if err != nil {
		defer cancel()
		return chat.Media{}, nil, hostError(ctx, "download", err)
	}
	m, err := wire.MediaFromProto(first.GetHeader())
	if err != nil {
		cancel()
		return chat.Media{}, nil, fmt.Errorf("download: %w", err)
	}
	return m, &download{ctx: ctx, stream: stream, cancel: cancel}, nil
}

// download reads a file from its stream.
type download struct {
	ctx    context.Context // it belongs to the stream
	cancel context.CancelFunc
	stream grpc.ServerStreamingClient[pluginv1.DownloadResponse]
	rest   []byte
}

func (d *download) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		r, err := d.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, hostError(d.ctx, "download", err)
		}
		d.rest = r.GetChunk()
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *download) Close() error {
	d.cancel()
	return nil
}
