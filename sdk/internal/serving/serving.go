// Package serving is what package sdk shows of a plugin to those who serve it within their own process, as package
// sdktest does. Authors see none of it.
package serving

import "google.golang.org/grpc"

// Dial opens the brokered connection to the host that has this id.
type Dial func(id uint32, options ...grpc.DialOption) (*grpc.ClientConn, error)

// Plugin is the serving side of a plugin.
type Plugin interface {
	// NewServer makes the gRPC server that the plugin is registered on: it bounds messages, turns a panic into an error of
	// the call and keeps secrets out of errors.
	NewServer(options []grpc.ServerOption) *grpc.Server
	// Register registers the services of the plugin's capabilities, and only those.
	Register(s grpc.ServiceRegistrar, dial Dial)
	// Failed receives the error of a service whose Run ended before it was told to.
	Failed() <-chan error
}
