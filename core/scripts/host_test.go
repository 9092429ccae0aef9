package scripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// passed are the variables that a host has of its script's environment.
var passed = []string{
	"HOME", "PATH", "TMPDIR", "TZ", "BOT_URL", "BOT_TOKEN", "WORK_URL", "WORK_TOKEN", "DISCORD_URL", "DISCORD_TOKEN", "WHATSAPP_URL", "WHATSAPP_ROOT",
	"ADMIN_ADDRESS", "OTLP_URL",
}

// host is a running clawhost.
type host struct {
	process *exec.Cmd
	ended   chan struct{} // closed once err is set
	err     error
}

var (
	// errLiving is returned for a host that does not end.
	errLiving = errors.New("the host does not end")
	errNoHost = errors.New("no host runs")
)

// stop has the host go down in order.
func (h *host) stop() error {
	if err := h.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the host: %w", err)
	}
	if err := h.wait(); err != nil {
		return fmt.Errorf("stop the host: %w", err)
	}
	return nil
}

// wait returns how the host ended. One that does not end is killed.
func (h *host) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-h.ended:
		return h.err
	case <-ctx.Done():
		_ = h.process.Process.Kill()
		<-h.ended
		return errLiving
	}
}

// runHost is the command host.
func (s *stage) runHost(ts *testscript.TestScript, neg bool, args []string) error {
	switch {
	case len(args) == 0 && s.host == nil:
		return s.start(ts, neg)
	case len(args) != 1 || neg || s.host == nil:
		return errors.New("usage: host [stop|kill|freeze|thaw], where one runs")
	}
	h := s.host
	switch args[0] {
	case "freeze":
		return h.process.Process.Signal(syscall.SIGSTOP)
	case "thaw":
		return h.process.Process.Signal(syscall.SIGCONT)
	}
	s.host = nil
	switch args[0] {
	case "stop":
		return h.stop()
	case "kill":
		if err := h.process.Process.Kill(); err != nil {
			return fmt.Errorf("kill the host: %w", err)
		}
		if err := h.wait(); errors.Is(err, errLiving) {
			return err
		}
		return nil
	}
	return fmt.Errorf("host cannot %q", args[0])
}

// start starts a process of the host.
func (s *stage) start(ts *testscript.TestScript, refused bool) error {
	command := exec.Command(filepath.Join(s.bin, "clawhost"), "-config", filepath.Join(s.dir, "config.hcl"))
	command.Dir = s.dir
	for _, name := range passed {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	before := s.log.Mark()
	command.Stdout, command.Stderr = s.log, s.log
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	h := &host{process: command, ended: make(chan struct{})}
	go func() { // ends with the process
		defer close(h.ended)
		h.err = command.Wait()
	}()
	if refused {
		err := h.wait()
		fmt.Fprint(ts.Stderr(), s.log.String()[before:])
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			return fmt.Errorf("the host ended with %v, want exit status 1", err)
		}
		return nil
	}
	s.host = h
	ctx, cancel := s.await()
	defer cancel()
	return s.log.Await(ctx, h.ended, before, regexp.MustCompile(`: ready:`))
}

// awaitLog is the command log.
func (s *stage) awaitLog(_ *testscript.TestScript, args []string) error {
	if s.host == nil {
		return errNoHost
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	return s.log.Await(ctx, s.host.ended, 0, pattern)
}

// logged is the command of the same name.
func (s *stage) logged(_ *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile(args[1])
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if pattern.MatchString(strings.TrimSuffix(line, "\n")) {
			lines = append(lines, line)
		}
	}
	if strconv.Itoa(len(lines)) != args[0] {
		return fmt.Errorf("%d lines of the log match, want %s:\n%s", len(lines), args[0], strings.Join(lines, ""))
	}
	return nil
}

// clawhost is the command of the same name.
func (s *stage) clawhost(ts *testscript.TestScript, neg bool, args []string) error {
	err := ts.Exec(filepath.Join(s.bin, "clawhost"), append([]string{"-config", filepath.Join(s.dir, "config.hcl")}, args...)...)
	switch exit := (*exec.ExitError)(nil); {
	case neg && errors.As(err, &exit):
		return nil
	case neg && err == nil:
		return errors.New("it succeeded")
	}
	return err
}

// capture is the command of the same name.
func (s *stage) capture(ts *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		return fmt.Errorf("no group of %q matches the output", pattern)
	}
	ts.Setenv(args[0], found[1])
	return nil
}

// settled waits until the host has taken in all that was written to it, and has nothing more to do.
func (s *stage) settled(ctx context.Context) error {
	if err := s.takenIn(ctx); err != nil {
		return err
	}
	return s.done(ctx, func(l left) bool { return l == left{} })
}

// takenIn waits until the host has taken in all that was written to it.
func (s *stage) takenIn(ctx context.Context) error {
	for label, b := range s.bots {
		if err := b.taken(ctx); err != nil {
			return fmt.Errorf("the host does not take what is written to %q: %w", label, err)
		}
	}
	return nil
}

// left is what the host has still to do.
type left struct{ Running, Waiting, Pending int }

// done waits until the host has no more to do than a condition says.
func (s *stage) done(ctx context.Context, fulfilled func(left) bool) error {
	var now left
	err := poll(ctx, func() (bool, error) {
		command := exec.CommandContext(ctx, filepath.Join(s.bin, "clawhost"), "status", "-config", filepath.Join(s.dir, "config.hcl"), "-json")
		for _, name := range passed {
			command.Env = append(command.Env, name+"=x") // the config's variables must be there
		}
		command.Env = append(command.Env, "HOME="+s.dir)
		out, err := command.Output()
		if err != nil {
			return false, fmt.Errorf("clawhost status: %w", err)
		}
		now = left{}
		if err := json.Unmarshal(out, &now); err != nil {
			return false, fmt.Errorf("clawhost status -json: %w", err)
		}
		return fulfilled(now), nil
	})
	if err != nil {
		return fmt.Errorf("the host has still to do (%+v): %w", now, err)
	}
	return nil
}

// delivered is the command of the same name.
func (s *stage) delivered(*testscript.TestScript, []string) error {
	if s.host == nil {
		return errNoHost
	}
	ctx, cancel := s.await()
	defer cancel()
	return s.done(ctx, func(l left) bool { return l.Pending == 0 })
}
