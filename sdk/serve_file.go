package sdk

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// FetchFile streams a file from the network, if the channel is a [FileFetcher].
func (s *channelServer) FetchFile(r *pluginv1.FetchFileRequest, stream grpc.ServerStreamingServer[pluginv1.FetchFileResponse]) error {
	token, most, err := wire.FetchFileFromProto(r)
	if err != nil {
		return invalid(err)
	}
	fetcher, err := channelAs[FileFetcher](s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.alive, cancel)()
	file, err := fetcher.FetchFile(ctx, token, most)
	if err == nil {
		defer file.Close()
		err = sendParts(stream, file)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	failure := wire.FileErrorToProto(err)
	failure.Message, failure.Problem = s.redact.text(failure.GetMessage()), s.redact.text(failure.GetProblem())
	return stream.Send(&pluginv1.FetchFileResponse{Part: &pluginv1.FetchFileResponse_Failure{Failure: failure}})
}

// sendParts streams a file.
func sendParts(stream grpc.ServerStreamingServer[pluginv1.FetchFileResponse], file io.Reader) error {
	for chunk := make([]byte, chunkBytes); ; {
		n, err := file.Read(chunk)
		if n > 0 {
			if err := stream.Send(&pluginv1.FetchFileResponse{Part: &pluginv1.FetchFileResponse_Chunk{Chunk: chunk[:n]}}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
