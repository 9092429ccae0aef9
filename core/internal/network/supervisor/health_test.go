package supervisor

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// patient is a plugin whose health checks are answered as a test wants it.
type patient struct {
	pluginv1.UnimplementedPluginServer
	answers chan string // "" and "doing …": it is well; "silence": it does not answer; else what it complains of
}

func (p patient) CheckHealth(ctx context.Context, _ *pluginv1.CheckHealthRequest) (*pluginv1.CheckHealthResponse, error) {
	switch complaint := <-p.answers; complaint {
	case "silence":
		<-ctx.Done()
		return nil, ctx.Err()
	default:
		return &pluginv1.CheckHealthResponse{Healthy: complaint == "" || strings.HasPrefix(complaint, "doing"), Detail: complaint}, nil
	}
}

// watchHealth has the health of a plugin watched that answers so, and returns what came of it and the log.
func watchHealth(t *testing.T, answers ...string) (string, error) {
	t.Helper()
	log, _, err := watched(t, answers...)
	return log, err
}

// watched is watchHealth with what the plugin was doing at last.
func watched(t *testing.T, answers ...string) (said, doing string, err error) {
	t.Helper()
	p := patient{answers: make(chan string, len(answers))}
	for _, a := range answers {
		p.answers <- a
	}
	server, listener := grpc.NewServer(), bufconn.Listen(1<<16)
	pluginv1.RegisterPluginServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	log := &journal.Journal{}
	entry := plugins.New([]*config.Plugin{{Label: "patient", Enabled: true}}).Entry("patient")
	i := &instance{entry: entry, log: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(answers))*healthEvery+healthEvery/2)
	defer cancel()
	err = i.health(ctx, &plugins.Plugin{Plugin: remote.New(conn)})
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	server.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return log.String(), i.entry.Status().Doing, err
}

// TestAPluginThatAnswersNothingIsEnded: a process that stands still is no reason to wait forever, and one that is slow now and
// then is no reason to end it.
func TestAPluginThatAnswersNothingIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if _, err := watchHealth(t, "", "silence", "silence", "silence"); err == nil || !strings.Contains(err.Error(), "not answered 3 health checks") {
			t.Errorf("three silent checks: %v", err)
		}
		if _, err := watchHealth(t, "silence", "silence", "", "silence", "silence", "no network", "silence"); err != nil {
			t.Errorf("never three in a row: %v", err)
		}
	})
}

// TestAComplaintIsLoggedOnce, and so is that it is over.
func TestAComplaintIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, _ := watchHealth(t, "", "no network", "no network", "silence", "no network", "no DNS", "", "", "no network")
		var said []string
		for line := range strings.Lines(log) {
			_, text, _ := strings.Cut(line, "] ")
			said = append(said, strings.TrimSpace(text))
		}
		want := []string{
			`the plugin reports a problem: error="unhealthy: no network"`, `the plugin reports a problem: error="unhealthy: no DNS"`, "the plugin reports no problem any more", `the plugin reports a problem: error="unhealthy: no network"`,
		}
		if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("logged\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// What a plugin says that it is doing is shown, in one line, until it says something else. A complaint and silence change nothing.
// Behaviour: plugin-status.
func TestWhatAPluginIsDoing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for last, want := range map[string]string{"doing\x1b[31m\nmore": "doing [31m more", "": "", "no network": "doing one thing", "silence": "doing one thing"} {
			if _, doing, err := watched(t, "doing one thing", last); doing != want || err != nil {
				t.Errorf("after %q it is doing %q, %v; want %q", last, doing, err, want)
			}
		}
	})
}
