package sdk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/clawhost/clawhost/sdk/handshake"
)

// The host starts plugins with github.com/hashicorp/go-plugin. This file is the plugin's side of that protocol, as far as the
// host uses it, because the library would be most of what a plugin's author downloads. Its messages are read and written as
// unknown fields of an empty one: a process that also has the library cannot register them twice.

const (
	// introduceWithin limits the time that the host may take to note the plugin's certificate.
	introduceWithin = 5 * time.Second
	// offerWithin limits the time that a call waits for the address of the host's services.
	offerWithin = 5 * time.Second
)

// serveHost serves the plugin until the host ends it. By a line on its standard output it first tells the host where.
func (p *plugin) serveHost() error {
	side, certificate, err := p.introduce()
	if err != nil {
		return err
	}
	secured := insecure.NewCredentials()
	if side != nil {
		secured = credentials.NewTLS(side)
	}
	dir := cmp.Or(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), os.TempDir())
	socket := filepath.Join(dir, "plugin"+rand.Text()[:10]) // no longer: the host allows for this length
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listen for the host: %w", err)
	}
	server := p.NewServer([]grpc.ServerOption{grpc.Creds(secured)})
	serving := health.NewServer()
	serving.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, serving)
	registerController(server)
	p.Register(server, newBroker(server, secured).dial)

	p.log.Debug("plugin address", "network", "unix", "address", socket)
	if _, err := fmt.Fprintf(os.Stdout, "1|%d|unix|%s|grpc|%s\n", handshake.ProtocolVersion, socket, certificate); err != nil {
		return fmt.Errorf("tell the host where the plugin serves: %w", err)
	}
	defer runtime.KeepAlive(os.Stdout) // a file that nothing refers to may be closed, and another get its number
	os.Stdout = os.Stderr              // the host logs what it reads there
	return server.Serve(listener)
}

// introduce returns the plugin's side of its connections, nil if the host has no certificate. If the host does not take the
// plugin's certificate over the line, it is returned too, as the host then reads it from the standard output.
func (p *plugin) introduce() (side *tls.Config, certificate string, err error) {
	side, err = handshake.NewPluginIdentity()
	if err != nil || side == nil {
		return nil, "", err
	}
	if p.line != nil {
		ctx, cancel := context.WithTimeout(p.alive, introduceWithin)
		defer cancel()
		if taken, err := p.line.Introduce(ctx, side); err != nil || taken {
			return side, "", err
		}
	}
	return side, base64.RawStdEncoding.EncodeToString(side.Certificates[0].Certificate[0]), nil
}

// registerController registers the service by which the host ends the plugin, at once.
func registerController(server *grpc.Server) {
	shutdown := func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
		server.Stop()
		return &emptypb.Empty{}, nil
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "plugin.GRPCController",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Shutdown", Handler: shutdown}},
	}, nil)
}

// broker is the service by which the host says where it serves the plugin.
type broker struct {
	secured credentials.TransportCredentials
	offers  chan offer
}

// offer is an address at which the host serves.
type offer struct {
	id               uint32
	network, address string
}

func newBroker(server *grpc.Server, secured credentials.TransportCredentials) *broker {
	b := &broker{secured: secured, offers: make(chan offer)}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "plugin.GRPCBroker",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "StartStream", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return b.receive(stream) },
		}},
	}, nil)
	return b
}

// receive passes the host's offers on until the stream ends.
func (b *broker) receive(stream grpc.ServerStream) error {
	for {
		var message emptypb.Empty
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		offered, err := parseOffer(message.ProtoReflect().GetUnknown())
		if err != nil {
			return fmt.Errorf("read where the host serves: %w", err)
		}
		select {
		case b.offers <- offered:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// parseOffer reads go-plugin's message ConnInfo.
func parseOffer(message []byte) (o offer, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return offer{}, protowire.ParseError(n)
		}
		field := message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, field); n < 0 {
			return offer{}, protowire.ParseError(n)
		}
		message = field[n:]
		switch {
		case number == 1 && kind == protowire.VarintType:
			id, _ := protowire.ConsumeVarint(field)
			o.id = uint32(id)
		case number == 2 && kind == protowire.BytesType:
			o.network, _ = protowire.ConsumeString(field)
		case number == 3 && kind == protowire.BytesType:
			o.address, _ = protowire.ConsumeString(field)
		}
	}
	return o, nil
}

// dial implements [serving.Dial]. It waits for the host's offer. Only one call at a time waits, and ids increase, so offers with
// other ids belong to earlier calls.
func (b *broker) dial(id uint32, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	late := time.After(offerWithin)
	for {
		select {
		case o := <-b.offers:
			if o.id == id {
				return b.connect(o, options)
			}
		case <-late:
			return nil, errors.New("the host does not say where it serves the plugin")
		}
	}
}

func (b *broker) connect(to offer, options []grpc.DialOption) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///host", append(options,
		grpc.WithTransportCredentials(b.secured),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, to.network, to.address)
		}),
	)...)
	if err != nil {
		return nil, err
	}
	conn.Connect() // so that the first call need not wait for it
	return conn, nil
}
