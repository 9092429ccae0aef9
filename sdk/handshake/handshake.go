// Package handshake defines what the host and a plugin must agree on before the first call: the magic cookie, the version of
// the protocol, the certificates, and the maximum message size. The host launches plugins with it and sdk.Serve answers with it.
package handshake

import "google.golang.org/grpc"

const (
	// ProtocolVersion changes only with the version of the proto package: v1 is 1.
	ProtocolVersion = 1
	// CookieName is the environment variable that tells a plugin that a host has started it, by [CookieValue].
	CookieName = "CLAWHOST_PLUGIN"
	// CookieValue is the value of [CookieName]. It is no secret.
	CookieValue = "b1d8f8a4-5f0c-4a0e-9c5c-6d6e7a3f2c11"
)

// MaxMessageBytes is the maximum size of a gRPC message that a plugin accepts, and that either side sends. The largest
// message is a page of history, which the host cuts to 8 MiB; files are sent in chunks. gRPC's default of 4 MiB is too
// small for the page, and go-plugin's client has no limit at all. The host accepts only 2 MiB from a plugin. The largest
// messages of a plugin are a state value (1 MiB) and an event whose text, quote and thread starter all have their maximum
// length (768 KiB).
const MaxMessageBytes = 16 << 20

// DialOptions are for the connections that either side opens.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(MaxMessageBytes),
		grpc.MaxCallSendMsgSize(MaxMessageBytes),
	)}
}

// ServerOptions are for the servers that either side runs.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.MaxSendMsgSize(MaxMessageBytes)}
}
