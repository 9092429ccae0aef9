// Package serving defines the part of a plugin that in-process callers such as package sdktest use. It is hidden from
// authors.
package serving

import "google.golang.org/grpc"

// Dial opens the brokered connection to the host that has this id.
type Dial func(id uint32, options ...grpc.DialOption) (*grpc.ClientConn, error)

// Plugin is the serving side of a plugin.
type Plugin interface {
	// NewServer returns the gRPC server that the plugin is registered on. It limits message sizes, turns a panic into an
	// error of the call and redacts secrets in errors.
	NewServer(options []grpc.ServerOption) *grpc.Server
	// Register registers the services of the plugin's capabilities, and only those.
	Register(s grpc.ServiceRegistrar, dial Dial)
	// Failed receives the error of a service whose Run ended before its context.
	Failed() <-chan error
}
