package remote

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxFilePart is the maximum size of a part of a file, in bytes. The sdk sends smaller ones.
const maxFilePart = 1 << 20

// FetchFile reads a file from the channel's network, of at most this many bytes. The error of a Read is a [*chat.FileError]
// if the channel gave a reason.
func (p *Plugin) FetchFile(ctx context.Context, token chat.FileToken, most int64) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := p.channel.FetchFile(ctx, &pluginv1.FetchFileRequest{Token: string(token), MaxBytes: most},
		grpc.MaxCallRecvMsgSize(maxFilePart))
	if err != nil {
		cancel()
		return nil, translate(err)
	}
	return &file{stream: stream, cancel: cancel}, nil
}

// file reads a file from its stream.
type file struct {
	stream grpc.ServerStreamingClient[pluginv1.FetchFileResponse]
	cancel context.CancelFunc
	rest   []byte
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		response, err := f.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, translate(err)
		}
		switch part := response.GetPart().(type) {
		case *pluginv1.FetchFileResponse_Chunk:
			f.rest = part.Chunk
		case *pluginv1.FetchFileResponse_Failure:
			return 0, wire.FileErrorFromProto(part.Failure)
		default:
			return 0, errors.New("the plugin sends a part of a file that is neither bytes nor a failure")
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *file) Close() error {
	f.cancel()
	return nil
}
