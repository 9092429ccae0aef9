package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/service"
)

// serviceDown is returned where the service does not run.
type serviceDown struct{ why string }

// Error implements error.
func (e *serviceDown) Error() string { return e.why }

// Unwrap makes the exit code that of a command that finds no host.
func (*serviceDown) Unwrap() error { return admin.ErrNotRunning }

func (s *serviceCommand) status(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("service status takes no arguments")
	}
	of, err := s.installed()
	if err != nil {
		return err
	}
	state, err := of.State(ctx)
	if err != nil {
		return err
	}
	var host []byte
	if state.Running {
		host = s.hostStatus(ctx, of)
	}
	switch {
	case s.json:
		if err := s.print(struct {
			service.State
			Host json.RawMessage `json:"host,omitempty"`
		}{state, host}); err != nil {
			return err
		}
	case state.Installed:
		if err := s.printTable(serviceRows(of, state, host == nil)); err != nil {
			return err
		}
		_, _ = s.out.Write(host)
	}
	switch {
	case !state.Installed:
		return &serviceDown{"there is no service; `clawhost service install` makes one"}
	case !state.Running:
		return &serviceDown{"the service does not run; `clawhost service logs` says why"}
	}
	return nil
}

// serviceRows is the state of the service as a table.
func serviceRows(of *service.Service, state service.State, alone bool) string {
	var rows bytes.Buffer
	w := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	row("service", "%s", of.UnitPath())
	doing := state.Doing
	if !state.Since.IsZero() {
		doing += fmt.Sprintf(" since %s (%s)", state.Since.Local().Format(time.DateTime), time.Since(state.Since).Round(time.Second))
	}
	if state.PID != "" {
		doing += ", pid " + state.PID
	}
	row("state", "%s", doing)
	start := "by hand only"
	switch {
	case state.Enabled && of.PerUser:
		start = "with the services of this user"
	case state.Enabled:
		start = "with the machine"
	}
	row("starts", "%s", start)
	if state.Failure != "" {
		row("last exit", "%s", state.Failure)
	}
	if state.Restarts != "" {
		row("restarts", "%s after failures", state.Restarts)
	}
	if state.DropIns != "" {
		row("drop-ins", "%s", state.DropIns)
	}
	if alone && state.Says != "" {
		row("host", "%s", state.Says)
	}
	_ = w.Flush() // a buffer takes everything
	return rows.String()
}

// hostStatus is what the command status prints about the service's host, as the host's user; nil: it does not answer, or this user may
// not ask.
func (s *serviceCommand) hostStatus(ctx context.Context, of *service.Service) []byte {
	path := of.ConfigPath()
	if path == "" || !of.PerUser && os.Geteuid() != 0 {
		return nil
	}
	args := []string{os.Args[0], "-config", path, "status"}
	if s.json {
		args = append(args, "-json")
	}
	command := exec.CommandContext(ctx, process.Self())
	command.Args, command.Dir = args, "/"
	if !of.PerUser {
		u, err := user.Lookup(service.User)
		if err != nil {
			return nil
		}
		uid, noUser := strconv.ParseUint(u.Uid, 10, 32)
		gid, noGroup := strconv.ParseUint(u.Gid, 10, 32)
		if noUser != nil || noGroup != nil {
			return nil
		}
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		command.Env = []string{"HOME=" + u.HomeDir, "PATH=" + os.Getenv("PATH")}
	}
	out, err := command.Output()
	if err != nil {
		return nil
	}
	return out
}

func (s *serviceCommand) logs(ctx context.Context, lines int, follow bool) error {
	of, err := s.installed()
	if err != nil {
		return err
	}
	return of.Log(ctx, lines, follow, func(line string) { fmt.Fprintln(s.out, printable(line)) })
}
