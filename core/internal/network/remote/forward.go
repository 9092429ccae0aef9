package remote

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// raw passes messages on as they are.
type raw struct{}

// Marshal implements encoding.Codec.
func (raw) Marshal(v any) ([]byte, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, errors.New("the message is not bytes")
	}
	return *message, nil
}

// Unmarshal implements encoding.Codec.
func (raw) Unmarshal(data []byte, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return errors.New("the message is not bytes")
	}
	*message = append([]byte(nil), data...)
	return nil
}

// Name implements encoding.Codec.
func (raw) Name() string { return "proto" }

// own are the calls that only the host of a plugin makes.
var own = []string{
	pluginv1.Plugin_Configure_FullMethodName, pluginv1.Plugin_Shutdown_FullMethodName, pluginv1.Channel_Run_FullMethodName, pluginv1.Channel_Login_FullMethodName,
	pluginv1.Channel_SendMessage_FullMethodName, // the outbox does so, after a look at its lease
}

// Forward makes a call for another host, with its encoded message, and gives each encoded message that is returned to take, whose error ends
// the call. The error is gRPC's.
func (p *Plugin) Forward(ctx context.Context, method string, request []byte, take func(response []byte) error) error {
	if slices.Contains(own, method) {
		return status.Errorf(codes.PermissionDenied, "only the host that runs the plugin may call %s", method)
	}
	options := []grpc.CallOption{grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(maxFilePart + maxSchema)}
	var response []byte
	if method != pluginv1.Channel_FetchFile_FullMethodName { // the only one that returns several messages
		if err := p.conn.Invoke(ctx, method, &request, &response, options...); err != nil {
			return err
		}
		return take(response)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, options...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&request); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		switch err := stream.RecvMsg(&response); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := take(response); err != nil {
			return err
		}
	}
}
