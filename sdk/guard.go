package sdk

import (
	"context"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// guardCall intercepts each call of the host.
func (p *plugin) guardCall(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (response any, err error) {
	defer p.cleanError(&err)
	defer p.recoverPanic(info.FullMethod, &err)
	if isAuthors(info.FullMethod) {
		if !p.calls.enter() {
			return nil, errShutDown
		}
		defer p.calls.leave()
	}
	return handle(ctx, request)
}

// guardStream intercepts each stream of the host.
func (p *plugin) guardStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer p.cleanError(&err)
	defer p.recoverPanic(info.FullMethod, &err)
	if isAuthors(info.FullMethod) {
		if !p.runs.enter() {
			return errShutDown
		}
		defer p.runs.leave()
	}
	return handle(server, stream)
}

var (
	errShutDown      = status.Error(codes.Unavailable, "the plugin is shutting down")
	errNotConfigured = status.Error(codes.FailedPrecondition, "the plugin is not configured")
)

// isAuthors reports whether a method runs the author's code, as opposed to the lifecycle's or go-plugin's.
func isAuthors(method string) bool {
	for _, service := range []string{
		pluginv1.Channel_ServiceDesc.ServiceName,
		pluginv1.Commands_ServiceDesc.ServiceName,
		pluginv1.Hooks_ServiceDesc.ServiceName,
		pluginv1.Tools_ServiceDesc.ServiceName,
		pluginv1.Waker_ServiceDesc.ServiceName,
		pluginv1.Cli_ServiceDesc.ServiceName,
		pluginv1.Http_ServiceDesc.ServiceName,
	} {
		if strings.HasPrefix(method, "/"+service+"/") {
			return true
		}
	}
	return false
}

// recoverPanic is deferred: it turns a panic into the call's error, and the process continues.
func (p *plugin) recoverPanic(where string, err *error) {
	if cause := recover(); cause != nil {
		p.log.Error("panic", "in", where, "panic", cause, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "panic in %s: %v", where, cause)
	}
}

// cleanError is deferred: it redacts secrets in the call's error.
func (p *plugin) cleanError(err *error) {
	if *err == nil {
		return
	}
	s := status.Convert(*err)
	if clean := p.redact.text(s.Message()); clean != s.Message() {
		*err = status.Error(s.Code(), clean)
	}
}
