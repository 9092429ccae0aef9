package supervisor

import (
	"context"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recovering turns a panic in one of the host's services into the error of the call, and logs its stack.
func recovering(log hclog.Logger) []grpc.ServerOption {
	recovered := func(method string, err *error) {
		if cause := recover(); cause != nil {
			log.Error("panic in a service of the host", "in", method, "panic", cause, "stack", string(debug.Stack()))
			*err = status.Error(codes.Internal, "the host failed; its log says why")
		}
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (response any, err error) {
			defer recovered(info.FullMethod, &err)
			return handle(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
			defer recovered(info.FullMethod, &err)
			return handle(server, stream)
		}),
	}
}
