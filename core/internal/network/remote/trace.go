package remote

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/sdk/span"
)

// Traced has the calls of a plugin that belong to a recorded trace be parts of it, with the spans that the plugin returns. A plugin of
// an earlier sdk returns none.
func Traced(plugin string) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		ctx, call := trace.Start(ctx, "call "+method[strings.LastIndexByte(method, '/')+1:], "plugin", plugin)
		if call == nil {
			return invoke(ctx, method, request, response, conn, options...)
		}
		var trailer metadata.MD
		ctx = metadata.AppendToOutgoingContext(ctx, span.Header, call.Context().String())
		err := invoke(ctx, method, request, response, conn, append(options, grpc.Trailer(&trailer))...)
		for _, spans := range trailer.Get(span.Spans) {
			call.Adopt(plugin, spans)
			break // there is one
		}
		call.End(err)
		return err
	})
}
