package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// TestAThirdPartyBuildsAndRuns builds testdata/outoftree as a module of its own, as a third party without this repository
// does, and runs it by hand and as a host does.
func TestAThirdPartyBuildsAndRuns(t *testing.T) {
	t.Parallel()
	binary := buildOutOfTree(t)

	byHand := exec.CommandContext(t.Context(), binary)
	byHand.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := byHand.CombinedOutput()
	if err != nil {
		t.Errorf("started by hand it ends with %v", err)
	}
	for _, want := range []string{"parrot 2.0.0 is a plugin of clawhost", `plugin "parrot" {`, `token = env("PARROT_TOKEN")`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("started by hand it does not say %q:\n%s", want, out)
		}
	}

	client, c := connect(t, earlierHost(exec.CommandContext(t.Context(), binary), t.Output()))
	defer client.Kill()
	d, err := pluginv1.NewPluginClient(c.conn).Describe(t.Context(), &pluginv1.DescribeRequest{})
	if err != nil || d.GetName() != "parrot" || d.GetVersion() != "2.0.0" ||
		len(d.GetCapabilities()) != 1 || d.GetCapabilities()[0] != pluginv1.Capability_CAPABILITY_CHANNEL {
		t.Fatalf("Describe answers %v, %v", d, err)
	}
	c.configure(t, `{"token": "very secret"}`)
	channel := pluginv1.NewChannelClient(c.conn)
	run, err := channel.Run(t.Context(), &pluginv1.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := run.Recv(); err != nil || state.GetDetail() != "on its perch" {
		t.Errorf("the first state is %v, %v", state, err)
	}
	sent, err := channel.SendMessage(t.Context(), wire.OutgoingToProto(chat.Outgoing{
		Key: "k1", To: chat.Address{Channel: "parrot", Chat: "perch"}, Text: "hello",
	}))
	if err != nil || len(sent.GetSent().GetMessageIds()) != 1 || sent.GetSent().GetMessageIds()[0] != "k1" {
		t.Errorf("SendMessage answers %v, %v", sent, err)
	}
}

// buildOutOfTree builds offline: the dependencies are those of the SDK, which are in the cache.
func buildOutOfTree(t *testing.T) (binary string) {
	t.Helper()
	sdk, err := filepath.Abs("../../../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	source, err := os.ReadFile("testdata/outoftree/main.go")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module := fmt.Sprintf(`module example.com/parrot

go 1.26.0

require github.com/clawhost/clawhost/sdk v0.0.0

replace github.com/clawhost/clawhost/sdk => %s
`, sdk)
	for name, content := range map[string][]byte{"main.go": source, "go.sum": sums, "go.mod": []byte(module)} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary = filepath.Join(folder, "clawhost-parrot")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", binary, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v; if modules are missing, \"make build\" downloads them\n%s", err, out)
	}
	return binary
}
