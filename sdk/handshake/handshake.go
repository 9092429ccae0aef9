// Package handshake defines what the host and a plugin must agree on before the first call: the magic cookie, the name that
// the host dispenses, and the maximum message size. The host launches plugins with it and sdk.Serve answers with it.
package handshake

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// PluginName is the only name in a plugin's set. Describe returns what the plugin serves under it.
const PluginName = "clawhost"

// MaxMessageBytes is the maximum size of a gRPC message that a plugin accepts, and that either side sends. The largest
// message is a page of history, which the host cuts to 8 MiB; files are sent in chunks. gRPC's default of 4 MiB is too
// small for the page, and go-plugin's client has no limit at all. The host accepts only 2 MiB from a plugin. The largest
// messages of a plugin are a state value (1 MiB) and an event whose text, quote and thread starter all have their maximum
// length (768 KiB).
const MaxMessageBytes = 16 << 20

// Config returns the handshake. Its version changes only with the version of the proto package: v1 is 1.
func Config() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		ProtocolVersion:  1,
		MagicCookieKey:   "CLAWHOST_PLUGIN",
		MagicCookieValue: "b1d8f8a4-5f0c-4a0e-9c5c-6d6e7a3f2c11",
	}
}

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

// Connection is what the host dispenses under [PluginName]: the connection to the plugin's services, and the broker for the
// connection to the host's services.
type Connection struct {
	Conn   *grpc.ClientConn
	Broker *plugin.GRPCBroker
}

// Client is the host's entry in its plugin set. Dispensing it gives a [*Connection].
type Client struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer returns an error: a Client serves nothing.
func (*Client) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("handshake.Client is the host's side")
}

// GRPCClient returns a [*Connection].
func (*Client) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &Connection{Conn: conn, Broker: broker}, nil
}
