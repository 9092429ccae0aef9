package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// patience limits the waits of a script.
const patience = 20 * time.Second

// exits CODE PROGRAM ARGS… runs a program and wants this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// until PATTERN PROGRAM ARGS… runs a program again and again until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM ARGS…")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(100 * time.Millisecond) // another process gives no event
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("the output never matched %q", args[0])
		}
	}
}

// capture NAME PATTERN sets a variable to what the pattern's first group matches in the output.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("nothing matches %q in\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found[1])
}

// mode MODE FILE… wants files to have these permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mode MODE FILE…")
	}
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if got := info.Mode().Perm(); got != fs.FileMode(want) {
			ts.Fatalf("%s has mode %v, want %v", name, got, fs.FileMode(want))
		}
	}
}

// newer FILE makes a database one of a newer version.
func newer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: newer FILE")
	}
	ts.Check(storetest.MakeNewer(ts.MkAbs(args[0])))
}

// terminate sends SIGTERM to all that runs in the background.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: terminate")
	}
	for _, command := range ts.BackgroundCmds() {
		ts.Check(command.Process.Signal(syscall.SIGTERM))
	}
}

// signals are those that scripts send.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}

// signalProcess is the command "signal KILL|TERM|HUP PID".
func signalProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal KILL|TERM|HUP PID")
	}
	pid, err := strconv.Atoi(args[1])
	ts.Check(err)
	if err := syscall.Kill(pid, signals[args[0]]); err != nil {
		ts.Check(fmt.Errorf("signal %d: %w", pid, err))
	}
}

// request makes an HTTP request and prints the status and the body of the response.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: request METHOD URL TOKEN [BODY]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var body io.Reader = http.NoBody
	if len(args) == 4 {
		body = strings.NewReader(args[3])
	}
	r, err := http.NewRequestWithContext(ctx, args[0], args[1], body)
	ts.Check(err)
	if args[2] != "" {
		r.Header.Set("Authorization", "Bearer "+args[2])
	}
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s", response.StatusCode, text)
}
