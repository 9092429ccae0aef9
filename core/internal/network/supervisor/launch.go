package supervisor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/handshake"
)

// startTimeout limits the time from the start of a binary to the end of its handshake.
const startTimeout = 20 * time.Second

// launched is a process after its handshake.
type launched struct {
	process *child
	client  *plugin.Client
	*connection
	plugin *remote.Plugin
	tls    *tls.Config // for this connection only

	services *grpc.Server // of the host, for the plugin; nil: none yet
	serving  sync.WaitGroup
}

// launch starts a plugin's binary and performs the handshake. After an error, such as that of ctx, nothing remains.
func launch(
	ctx context.Context, block *config.Plugin, socketDir string, children *process.Children, sockets *sockets, log hclog.Logger,
) (*launched, error) {
	program, err := open(block, log)
	if err != nil {
		return nil, err
	}
	defer program.close()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	identity, err := handshake.NewIdentity()
	if err != nil {
		return nil, err
	}
	var started *child
	var ownDir string
	lines := &guard{log: log}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.CookieName, MagicCookieValue: handshake.CookieValue,
		},
		Plugins:          plugin.PluginSet{pluginName: &dispensed{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		TLSConfig:        identity,
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketDir},
		// An idle connection must stay open: its end would be mistaken for the plugin's.
		GRPCDialOptions: append(handshake.DialOptions(), grpc.WithIdleTimeout(0), remote.Traced(block.Label)),
		// go-plugin parses a plugin's stderr without limits when it logs, so it gets no logger.
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		// After the handshake, a plugin's os.Stdout and os.Stderr arrive over the connection.
		SyncStdout: lines.stream(),
		SyncStderr: lines.stream(),
		RunnerFunc: func(_ hclog.Logger, command *exec.Cmd, dir string) (runner.Runner, error) {
			ownDir = dir
			command.Env = append(command.Env, handshake.HostCertificate+"="+handshake.Certificate(identity))
			started = newChild(ctx, command, program, environment(block), children, lines, sockets, identity)
			return started, nil
		},
	})
	to, err := dispense(client)
	if started != nil && !started.keep() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		client.Kill()
		_ = os.RemoveAll(ownDir) // Kill does not remove it if nothing was started
		return nil, explain(ctx, err, started)
	}
	return &launched{process: started, client: client, connection: to, plugin: remote.New(to.conn), tls: identity}, nil
}

// environment returns the plugin's whole environment.
func environment(block *config.Plugin) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(block.Env)) {
		env = append(env, name+"="+block.Env[name])
	}
	return env
}

// maxSocketPath is the longest path of a unix socket on the systems with the lowest limit.
const maxSocketPath = 103

// SocketDir is the folder of the plugins' sockets: the host's, if that keeps the sockets' paths short enough.
func SocketDir(run string) string {
	const socket = "/plugin-dir0123456789/plugin0123456789"
	if len(run)+len(socket) <= maxSocketPath {
		return run
	}
	return os.TempDir()
}

// pluginName is the only name in a plugin's set. Describe returns what the plugin serves under it.
const pluginName = "clawhost"

// connection is a connection to a plugin's services, and the broker for its connection to the host's.
type connection struct {
	conn   *grpc.ClientConn
	broker *plugin.GRPCBroker
}

// dispensed is the host's entry in go-plugin's set. Dispensing it gives a [*connection].
type dispensed struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer returns an error: the host's entry serves nothing.
func (*dispensed) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the host's side")
}

// GRPCClient returns a [*connection].
func (*dispensed) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &connection{conn, broker}, nil
}

func dispense(client *plugin.Client) (*connection, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(pluginName)
	if err != nil {
		return nil, err
	}
	return raw.(*connection), nil
}

// serve serves the host's services to the plugin. A plugin without a broker does not need them.
func (l *launched) serve(broker uint32, services *grpc.Server, log hclog.Logger) {
	l.services = services
	l.serving.Go(func() {
		listener, err := l.broker.Accept(broker)
		if err != nil {
			log.Debug("the plugin cannot call the host: it serves no broker", "error", err)
			return
		}
		if err := services.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			log.Warn("cannot serve the plugin", "error", err)
		}
	})
}

// end ends the process, in any state, and waits for it.
func (l *launched) end() error {
	err := l.process.Kill(context.Background()) // Kill does not wait, so it uses none
	l.client.Kill()
	if l.services != nil {
		l.services.Stop()
	}
	l.serving.Wait()
	<-l.process.done
	return err
}

// explain adds to the error of a failed start how the binary ended and what it wrote.
func explain(ctx context.Context, err error, started *child) error {
	if started == nil || started.cmd.Process == nil {
		err = fmt.Errorf("start the plugin: %w", err)
		if errors.Is(err, syscall.ENOEXEC) || errors.Is(err, fs.ErrPermission) {
			return &Unfit{Attribute: "source", err: err}
		}
		return err
	}
	<-started.done
	line, _, _ := strings.Cut(string(started.said), "\n")
	line = printable(strings.TrimRight(line, "\r"))
	version, shakes := protocolOf(line)
	var why string
	switch {
	case shakes && version != handshake.ProtocolVersion:
		return &Unfit{
			Attribute: "source",
			err:       fmt.Errorf("the plugin speaks version %d of the protocol, this host version %d", version, handshake.ProtocolVersion),
		}
	case !started.killed():
		why = "it ended before it served, with " + started.outcome()
	case ctx.Err() != nil:
		why = "it did not begin to serve in time"
	case shakes || line == "":
		why, _, _ = strings.Cut(err.Error(), "\n")
	}
	if line != "" && !shakes {
		why = strings.TrimPrefix(why+fmt.Sprintf("; it wrote %q to its standard output, which is for sdk.Serve alone", line), "; ")
	}
	if last := started.guard.lastWords(); last != "" {
		why += ": " + last
	}
	return fmt.Errorf("start the plugin: %s", why)
}

// protocolOf returns the protocol version in a plugin's handshake line, if it is one.
func protocolOf(line string) (version uint, is bool) {
	parts := strings.Split(line, "|")
	if len(parts) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(parts[1], 10, 32)
	return uint(n), err == nil
}
