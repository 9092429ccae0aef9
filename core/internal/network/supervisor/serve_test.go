package supervisor_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// These tests run plugins of the SDK under the client of go-plugin as it is, without what this package adds, as earlier hosts
// do. They are not in the SDK's module, so that its users need not have go-plugin.

type tickerConfig struct {
	Token sdk.Secret `json:"token"`
	Fail  bool       `json:"fail,omitempty"`
}

// ticker is a service that logs in each way that there is.
type ticker struct{ config tickerConfig }

func openTicker(_ context.Context, env sdk.Env, c tickerConfig) (ticker, error) {
	env.Log.Info("opened", "token", c.Token.Reveal())
	stdlog.Printf("[WARN] the token is %s", c.Token.Reveal())
	stdlog.Println("[ERR] failed")
	stdlog.Println("[TRACE] too little")
	stdlog.Println("as it is ")
	fmt.Println("printed by hand")
	return ticker{c}, nil
}

func (t ticker) Run(ctx context.Context) error {
	if t.config.Fail {
		return errors.New("gave up with " + t.config.Token.Reveal())
	}
	<-ctx.Done()
	return nil
}

func (ticker) RunCommand(_ context.Context, call sdk.CommandCall) (string, error) {
	if call.Args == "dumpable" {
		return strconv.Itoa(dumpable()), nil
	}
	return strconv.Itoa(os.Getpid()), nil
}

// asked is what a host's side dispenses.
type asked struct {
	plugin.NetRPCUnsupportedPlugin

	conn   *grpc.ClientConn
	broker *plugin.GRPCBroker
}

func (*asked) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errors.New("no plugin") }

func (*asked) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &asked{conn: conn, broker: broker}, nil
}

// tickerCommand starts the test binary as a plugin, with more open files.
func tickerCommand(files ...*os.File) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = []string{behaviour + "=ticker", "TMPDIR=" + os.TempDir()}
	command.ExtraFiles = files
	return command
}

// earlierHost is the client of a host before the SDK made certificates of its own.
func earlierHost(command *exec.Cmd, stderr io.Writer) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.CookieName, MagicCookieValue: handshake.CookieValue,
		},
		Plugins:          plugin.PluginSet{"clawhost": &asked{}},
		Cmd:              command,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		GRPCDialOptions:  handshake.DialOptions(),
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		Stderr:           stderr,
	}
}

// connect starts a plugin. Client.Kill ends it.
func connect(t testing.TB, config *plugin.ClientConfig) (client *plugin.Client, to *asked) {
	client = plugin.NewClient(config)
	protocol, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	dispensed, err := protocol.Dispense("clawhost")
	if err != nil {
		t.Fatal(err)
	}
	return client, dispensed.(*asked)
}

// configure serves an empty host and configures the plugin.
func (a *asked) configure(t testing.TB, config string) {
	if r, err := a.tryConfigure(t.Context(), config); err != nil || len(r.GetDiagnostics()) > 0 {
		t.Fatal(r, err)
	}
}

func (a *asked) tryConfigure(ctx context.Context, config string) (*pluginv1.ConfigureResponse, error) {
	id := a.broker.NextId()
	go a.broker.AcceptAndServe(id, func(options []grpc.ServerOption) *grpc.Server { return grpc.NewServer(options...) })
	return pluginv1.NewPluginClient(a.conn).Configure(ctx, &pluginv1.ConfigureRequest{
		ConfigJson: []byte(config), HostBrokerId: id, Instance: "ticker",
	})
}

// ended waits until the last process that has the pipe's other end open has ended.
func ended(t *testing.T, lifeline *os.File) {
	t.Helper()
	if err := lifeline.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := lifeline.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the process lives on: %v", err)
	}
}

func TestServeUnderGoPlugin(t *testing.T) {
	t.Parallel()
	for name, certified := range map[string]bool{"with certificates": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr lockedBuffer
			command := tickerCommand()
			config := earlierHost(command, &stderr)
			config.AutoMTLS = certified
			client, c := connect(t, config)
			defer client.Kill()
			d, err := pluginv1.NewPluginClient(c.conn).Describe(t.Context(), &pluginv1.DescribeRequest{})
			if err != nil || d.GetName() != "ticker" || d.GetVersion() != "1.2.3" || len(d.GetCommands()) != 1 {
				t.Fatalf("Describe answers %v, %v", d, err)
			}
			if protocol, err := client.Client(); err != nil || protocol.Ping() != nil {
				t.Errorf("the client of go-plugin finds it ill: %v, %v", err, protocol.Ping())
			}
			if r, err := c.tryConfigure(t.Context(), `{"fail": 7}`); err == nil && len(r.GetDiagnostics()) == 0 {
				t.Error("any config is taken")
			}
			c.configure(t, `{"token": "very secret"}`)
			run := func(args string) string {
				r, err := pluginv1.NewCommandsClient(c.conn).RunCommand(t.Context(), &pluginv1.RunCommandRequest{
					Name: "pid", Args: args, Caller: &pluginv1.Caller{Address: &pluginv1.Address{ChatId: "c"}, ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT},
				})
				if err != nil {
					t.Fatal(err)
				}
				return r.GetReply()
			}
			pid, err := strconv.Atoi(run(""))
			if err != nil {
				t.Fatal(err)
			}
			// Only the host ends a plugin.
			for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
				run("")
			}
			if got := run("dumpable"); got != "0" {
				t.Errorf("other processes of the user can read the plugin's memory: dumpable is %s", got)
			}
			if _, err := pluginv1.NewPluginClient(c.conn).Shutdown(t.Context(), &pluginv1.ShutdownRequest{}); err != nil {
				t.Fatal(err)
			}
			client.Kill() // by the service of go-plugin, and by a signal only if that does not end the process
			if code := command.ProcessState.ExitCode(); code != 0 {
				t.Errorf("it ended with %v", command.ProcessState)
			}
			checkLog(t, stderr.String())
		})
	}
}

// checkLog checks what a plugin of tickers has written to its stderr.
func checkLog(t *testing.T, logs string) {
	t.Helper()
	for _, want := range []string{
		`"@message":"opened"`, `"token":"[secret]"`, `"@level":"warn","@message":"the token is [secret]","@module":"ticker"`,
		`"@level":"error","@message":"failed"`, `"@level":"info","@message":"as it is"`, "\nprinted by hand\n",
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("%q is not in the log:\n%s", want, logs)
		}
	}
	if strings.Contains(logs, "very secret") || strings.Contains(logs, "too little") {
		t.Errorf("the secret is in the log, or what no one wants:\n%s", logs)
	}
	for line := range strings.Lines(logs) {
		if !strings.HasPrefix(line, "{") && line != "printed by hand\n" {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
	}
}

// A client of go-plugin that speaks several versions of the protocol, and one that does not speak that of the SDK.
func TestVersionOfTheProtocol(t *testing.T) {
	t.Parallel()
	for versions, want := range map[string]string{"1,2": "", "2": "Plugin version: 1, Client versions: [2]"} {
		t.Run(versions, func(t *testing.T) {
			t.Parallel()
			config := earlierHost(tickerCommand(), t.Output())
			config.HandshakeConfig.ProtocolVersion = 0
			config.VersionedPlugins, config.Plugins = map[int]plugin.PluginSet{}, nil
			for version := range strings.SplitSeq(versions, ",") {
				n, err := strconv.Atoi(version)
				if err != nil {
					t.Fatal(err)
				}
				config.VersionedPlugins[n] = plugin.PluginSet{"clawhost": &asked{}}
			}
			client := plugin.NewClient(config)
			defer client.Kill()
			_, err := client.Client()
			if want == "" && (err != nil || client.NegotiatedVersion() != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("version %d, %v", client.NegotiatedVersion(), err)
			}
		})
	}
}

// Under another program's client a plugin says what it is, and ends.
func TestAnotherCookie(t *testing.T) {
	t.Parallel()
	config := earlierHost(tickerCommand(), t.Output())
	config.MagicCookieValue = "another program"
	client := plugin.NewClient(config)
	defer client.Kill()
	if _, err := client.Client(); err == nil || !strings.Contains(err.Error(), "ticker 1.2.3 is a plugin of clawhost") {
		t.Errorf("it is served: %v", err)
	}
}

func TestAServiceThatGivesUpEndsTheProcess(t *testing.T) {
	t.Parallel()
	lifeline, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lifeline.Close() }()
	var stderr lockedBuffer
	client, c := connect(t, earlierHost(tickerCommand(held), &stderr))
	_ = held.Close()
	// The process may end before it has responded.
	_, _ = c.tryConfigure(t.Context(), `{"token": "very secret", "fail": true}`)
	ended(t, lifeline)
	client.Kill()
	if logs := stderr.String(); !strings.Contains(logs, "gave up with [secret]") {
		t.Errorf("the log does not say why:\n%s", logs)
	}
}

// hostThatStarts is the main function of a host that starts a plugin and reports it.
func hostThatStarts() int {
	t := &failing{}
	_, c := connect(t, earlierHost(tickerCommand(os.NewFile(3, "lifeline")), io.Discard))
	c.configure(t, `{"token": "very secret"}`)
	fmt.Println("started")
	select {}
}

// failing is the part of testing.TB that connect needs, for a process that is not a test.
type failing struct{ testing.TB }

func (*failing) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func (*failing) Context() context.Context { return context.Background() }

func TestAPluginDoesNotOutliveItsHost(t *testing.T) {
	t.Parallel()
	lifeline, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lifeline.Close() }()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), behaviour+"=host")
	host.ExtraFiles = []*os.File{held}
	host.Stderr = t.Output()
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	_ = held.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("the host says %q, %v", line, err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	_ = host.Wait()
	ended(t, lifeline)
	t.Logf("the plugin ended %v after its host", time.Since(killed).Round(time.Millisecond))
}

// lockedBuffer is a buffer that go-plugin's goroutine writes while the test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}
