package sdk_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk"
)

// role is the variable that makes the test binary a plugin.
const role = "CLAWHOST_SDK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "plugin":
		sdk.Serve("ticker", "1.2.3", sdk.Service(
			func(context.Context, sdk.Env, tickerConfig) (ticker, error) { return ticker{}, nil },
			sdk.CommandSpec{Name: "pid", Usage: "/pid", Summary: "Answers the process's id."},
		))
	case "nested":
		sdk.Serve("nested-one", "0.1.0",
			sdk.Service(func(context.Context, sdk.Env, nestedConfig) (struct{}, error) { return struct{}{}, nil }),
			sdk.Tools(sdk.Tool("search", "Searches the archive.", func(context.Context, sdk.ToolCall, struct{}) (string, error) { return "", nil })))
	case "mistake":
		sdk.Serve("ticker", "1.2.3")
	default:
		os.Exit(m.Run())
	}
}

type tickerConfig struct {
	Token sdk.Secret   `json:"token" jsonschema:"From the network."`
	Every sdk.Duration `json:"every" default:"30s" jsonschema:"How often."`
	Fail  bool         `json:"fail,omitempty"`
	Peers []string     `json:"peers,omitempty"`
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

type ticker struct{}

func (ticker) RunCommand(context.Context, sdk.CommandCall) (string, error) { return "", nil }

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
    # peers = []
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
