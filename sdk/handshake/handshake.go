// Package handshake is what the host and a plugin must agree on before the first call: the magic cookie, the name that
// the host dispenses, and how large a message may be. The host launches plugins with it and sdk.Serve answers with it.
package handshake

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// PluginName is the one name in a plugin's set. What the plugin serves beyond it is told by Describe.
const PluginName = "clawhost"

// MaxMessageBytes is the largest gRPC message that a plugin takes, and the largest that either side sends. The largest is a
// page of history, which the host cuts to 8 MiB; files go in chunks. gRPC's own default, 4 MiB, is too small for the page,
// and go-plugin's client has no limit at all. The host takes less of a plugin: 2 MiB. The largest there are a state value
// (1 MiB) and an event whose text, quote and thread starter are all full (768 KiB).
const MaxMessageBytes = 16 << 20

// Config returns the handshake. Its version changes only with the proto package's: v1 is 1.
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

// Connection is what the host dispenses under [PluginName]: the connection on which the plugin serves, and the broker
// for the one on which the host does.
type Connection struct {
	Conn   *grpc.ClientConn
	Broker *plugin.GRPCBroker
}

// Client is the host's entry in its plugin set. Dispensing it gives a [*Connection].
type Client struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer refuses: a Client serves nothing.
func (*Client) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("handshake.Client is the host's side")
}

// GRPCClient returns a [*Connection].
func (*Client) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &Connection{Conn: conn, Broker: broker}, nil
}
