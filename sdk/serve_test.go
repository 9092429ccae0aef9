package sdk_test

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

// role is the variable that makes the test binary a plugin, or a host that starts one.
const role = "CLAWHOST_SDK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "plugin":
		sdk.Serve("ticker", "1.2.3", sdk.Service(openTicker, sdk.CommandSpec{Name: "pid", Usage: "/pid", Summary: "Answers the process's id."}))
	case "nested":
		sdk.Serve("nested-one", "0.1.0",
			sdk.Service(func(context.Context, sdk.Env, nestedConfig) (struct{}, error) { return struct{}{}, nil }),
			sdk.Tools(sdk.Tool("search", "Searches the archive.", func(context.Context, sdk.ToolCall, struct{}) (string, error) { return "", nil })))
	case "mistake":
		sdk.Serve("ticker", "1.2.3")
	case "host":
		os.Exit(hostThatStarts())
	default:
		os.Exit(m.Run())
	}
}

type tickerConfig struct {
	Token sdk.Secret   `json:"token" jsonschema:"From the network."`
	Every sdk.Duration `json:"every" default:"30s" jsonschema:"How often."`
	Fail  bool         `json:"fail,omitempty"`
	Rooms []string     `json:"rooms,omitempty"`
}

type nestedConfig struct {
	Server struct {
		URL   string     `json:"url" jsonschema:"Where it is."`
		Token sdk.Secret `json:"token"`
		Port  int        `json:"port" default:"443"`
	} `json:"server"`
	Proxy struct {
		Host string `json:"host" jsonschema:"Its name."`
	} `json:"proxy,omitzero" jsonschema:"How to get out."`
}

type ticker struct{ config tickerConfig }

func openTicker(_ context.Context, env sdk.Env, c tickerConfig) (ticker, error) {
	env.Log.Info("opened", "token", c.Token.Reveal())
	stdlog.Printf("[WARN] the token is %s", c.Token.Reveal())
	return ticker{c}, nil
}

func (t ticker) Run(ctx context.Context) error {
	if t.config.Fail {
		return errors.New("gave up with " + t.config.Token.Reveal())
	}
	return untilCancelled(ctx)
}

func (ticker) RunCommand(_ context.Context, call sdk.CommandCall) (string, error) {
	if call.Args == "dumpable" {
		return strconv.Itoa(dumpable()), nil
	}
	return strconv.Itoa(os.Getpid()), nil
}

// launch starts the test binary as a plugin, as the host does.
func launch(t testing.TB, stderr io.Writer, files ...*os.File) (client *plugin.Client, connection *handshake.Connection) {
	command := exec.Command(os.Args[0])
	command.Env = []string{role + "=plugin", "TMPDIR=" + os.TempDir()}
	command.ExtraFiles = files
	return launchCommand(t, command, stderr)
}

func launchCommand(t testing.TB, command *exec.Cmd, stderr io.Writer) (client *plugin.Client, connection *handshake.Connection) {
	client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake.Config(),
		Plugins:          plugin.PluginSet{handshake.PluginName: &handshake.Client{}},
		Cmd:              command,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		GRPCDialOptions:  handshake.DialOptions(),
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		Stderr:           stderr,
	})
	protocol, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	dispensed, err := protocol.Dispense(handshake.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	return client, dispensed.(*handshake.Connection)
}

// configurePlugin serves an empty host and configures the plugin.
func configurePlugin(t testing.TB, c *handshake.Connection, config string) {
	if r, err := tryConfigure(t.Context(), c, config); err != nil || len(r.GetDiagnostics()) > 0 {
		t.Fatal(r, err)
	}
}

func tryConfigure(ctx context.Context, c *handshake.Connection, config string) (*pluginv1.ConfigureResponse, error) {
	id := c.Broker.NextId()
	go c.Broker.AcceptAndServe(id, func(options []grpc.ServerOption) *grpc.Server { return grpc.NewServer(options...) })
	return pluginv1.NewPluginClient(c.Conn).Configure(ctx, &pluginv1.ConfigureRequest{
		ConfigJson: []byte(config), HostBrokerId: id, Instance: "ticker",
	})
}

// ended waits until the last process that has the pipe's other end open has ended.
func ended(t *testing.T, lifeline *os.File) {
	t.Helper()
	if err := lifeline.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := lifeline.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the process lives on: %v", err)
	}
}

func TestServeUnderGoPlugin(t *testing.T) {
	t.Parallel()
	var stderr lockedBuffer
	client, c := launch(t, &stderr)
	defer client.Kill()
	d, err := pluginv1.NewPluginClient(c.Conn).Describe(t.Context(), &pluginv1.DescribeRequest{})
	if err != nil || d.GetName() != "ticker" || d.GetVersion() != "1.2.3" || len(d.GetCommands()) != 1 {
		t.Fatalf("Describe answers %v, %v", d, err)
	}
	configurePlugin(t, c, `{"token": "very secret"}`)
	run := func(args string) string {
		r, err := pluginv1.NewCommandsClient(c.Conn).RunCommand(t.Context(), &pluginv1.RunCommandRequest{
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
	if _, err := pluginv1.NewPluginClient(c.Conn).Shutdown(t.Context(), &pluginv1.ShutdownRequest{}); err != nil {
		t.Fatal(err)
	}
	client.Kill()
	logs := stderr.String()
	for _, want := range []string{
		`"@message":"opened"`, `"token":"[secret]"`, `"@level":"warn"`, `"@message":"the token is [secret]"`,
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("%s is not in the log:\n%s", want, logs)
		}
	}
	if strings.Contains(logs, "very secret") {
		t.Errorf("the secret is in the log:\n%s", logs)
	}
	for line := range strings.Lines(logs) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
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
	client, c := launch(t, &stderr, held)
	_ = held.Close()
	// The process may end before it has responded.
	_, _ = tryConfigure(t.Context(), c, `{"token": "very secret", "fail": true}`)
	ended(t, lifeline)
	client.Kill()
	if logs := stderr.String(); !strings.Contains(logs, "gave up with [secret]") {
		t.Errorf("the log does not say why:\n%s", logs)
	}
}

// hostThatStarts is the main function of a host that starts a plugin and reports it.
func hostThatStarts() int {
	t := &failing{}
	_, c := launch(t, io.Discard, os.NewFile(3, "lifeline"))
	configurePlugin(t, c, `{"token": "very secret"}`)
	fmt.Println("started")
	select {}
}

// failing is the part of testing.TB that launch needs, for a process that is not a test.
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
	host.Env = append(os.Environ(), role+"=host")
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

func TestStartedByHand(t *testing.T) {
	t.Parallel()
	out, code := runByHand(t, "plugin")
	const want = `ticker 1.2.3 is a plugin of clawhost. It does nothing by itself: clawhost starts it.

Put the binary into clawhost's plugin_dir and this block into its config file:

plugin "ticker" {
  source = "sdk.test"
  config {
    # From the network.
    token = env("TICKER_TOKEN")
    # How often.
    # every = "30s"
    # fail = false
    # rooms = []
  }
}

Commands:
  /pid  Answers the process's id.
`
	if out != want || code != 0 {
		t.Errorf("exit code %d and the text:\n%s\nwant:\n%s", code, out, want)
	}
}

func TestANestedConfigAndToolsByHand(t *testing.T) {
	t.Parallel()
	out, code := runByHand(t, "nested")
	const want = `plugin "nested-one" {
  source = "sdk.test"
  config {
    server = {
      # Where it is.
      url = ""
      token = env("NESTED_ONE_SERVER_TOKEN")
      # port = 443
    }
    # How to get out.
    # proxy = {
    #   # Its name.
    #   host = ""
    # }
  }
}

Tools:
  search  Searches the archive.
`
	if !strings.HasSuffix(out, want) || code != 0 {
		t.Errorf("exit code %d and the text:\n%s\nwant:\n%s", code, out, want)
	}
}

func TestAMistakeOfTheAuthorEndsServe(t *testing.T) {
	t.Parallel()
	if out, code := runByHand(t, "mistake"); out != "plugin ticker: the plugin has no component.\n" || code != 1 {
		t.Errorf("exit code %d, %s", code, out)
	}
}

func runByHand(t *testing.T, as string) (out string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = []string{role + "=" + as}
	raw, err := command.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return string(raw), command.ProcessState.ExitCode()
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
