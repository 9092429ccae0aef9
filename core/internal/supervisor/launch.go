package supervisor

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/sdk/handshake"
)

// startTimeout bounds the time from the start of a binary to its handshake.
const startTimeout = 20 * time.Second

// launched is a process that has shaken hands.
type launched struct {
	process *child
	client  *plugin.Client
	*handshake.Connection
	plugin *remote.Plugin
}

// launch starts a plugin's binary and shakes hands. An error leaves nothing behind.
func launch(spec Spec, socketDir string, children *process.Children, sockets *sockets, log hclog.Logger) (*launched, error) {
	program, err := open(spec, log)
	if err != nil {
		return nil, err
	}
	defer program.close()
	var started *child
	lines := &guard{log: log}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake.Config(),
		Plugins:          plugin.PluginSet{handshake.PluginName: &handshake.Client{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     startTimeout,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketDir},
		// An idle connection must stay: its end would be taken for the plugin's.
		GRPCDialOptions: append(handshake.DialOptions(), grpc.WithIdleTimeout(0)),
		// go-plugin parses a plugin's stderr without guards when it logs. It gets none, and logs nothing.
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		// Once it serves, a plugin's os.Stdout and os.Stderr come over the connection.
		SyncStdout: lines.stream(),
		SyncStderr: lines.stream(),
		RunnerFunc: func(_ hclog.Logger, command *exec.Cmd, _ string) (runner.Runner, error) {
			started = newChild(command, program, spec.Env, children, lines, sockets)
			return started, nil
		},
	})
	connection, err := dispense(client)
	if err != nil {
		client.Kill()
		return nil, explain(err, started)
	}
	return &launched{process: started, client: client, Connection: connection, plugin: remote.New(connection.Conn)}, nil
}

func dispense(client *plugin.Client) (*handshake.Connection, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(handshake.PluginName)
	if err != nil {
		return nil, err
	}
	return raw.(*handshake.Connection), nil
}

// explain says of a failed start what the binary itself said.
func explain(err error, started *child) error {
	if wanting(err) {
		return fmt.Errorf("start the plugin: %w", err)
	}
	text := strings.TrimRight(strings.SplitN(err.Error(), "\n", 2)[0], ": ")
	if started != nil {
		if last := started.guard.lastWords(); last != "" {
			text += ": " + last
		}
	}
	return fmt.Errorf("start the plugin: %s", text)
}
