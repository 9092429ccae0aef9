package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
)

// A plugin that never begins to serve holds up neither who asks what it is nor the host's end.
func TestAPluginThatNeverServes(t *testing.T) {
	t.Parallel()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := supervisor.Check(ctx, spec(t, "mute"), supervisor.Checking{HostVersion: "test", SocketDir: t.TempDir()}, hclog.NewNullLogger())
	if err == nil || !strings.Contains(err.Error(), "it did not begin to serve in time") {
		t.Errorf("Describe: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Describe took %v", took)
	}

	log := &journal.Journal{}
	options := supervisor.Options{Plugins: plugins.New([]*config.Plugin{spec(t, "mute")}), SocketDir: t.TempDir()}
	s := supervisor.New(options, hclog.New(&hclog.LoggerOptions{Output: log}))
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() { s.Run(ctx, &fixture{}); close(ended) }()
	if err := log.Await(t.Context(), ended, 0, regexp.MustCompile("I say nothing")); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("Run has not returned after 10 s")
	}
}

// A start that fails leaves neither open files nor folders behind. No other test runs meanwhile, and nothing is collected.
func TestAFailedStartLeavesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	garbage := spec(t, "garbage")
	garbage.Source = filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(garbage.Source, []byte("no program\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	sockets := t.TempDir()
	try := func() {
		if _, err := supervisor.Check(t.Context(), garbage, supervisor.Checking{HostVersion: "test", SocketDir: sockets}, hclog.NewNullLogger()); err == nil {
			t.Fatal("garbage was started")
		}
	}
	try() // what is opened once
	before := entries(t, "/proc/self/fd")
	for range 5 {
		try()
	}
	if after := entries(t, "/proc/self/fd"); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
	if n := entries(t, sockets); n != 0 {
		t.Errorf("%d folders are left", n)
	}
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(list)
}
