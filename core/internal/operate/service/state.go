package service

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// State is how systemd says that a service is.
type State struct {
	Installed bool      `json:"installed"`
	Running   bool      `json:"running"`           // ready, too
	Doing     string    `json:"doing"`             // in words
	Since     time.Time `json:"since,omitzero"`    // when it became so
	Enabled   bool      `json:"enabled"`           // it is started with the system, or with its user's services
	PID       string    `json:"pid,omitempty"`     // of the host
	Says      string    `json:"says,omitempty"`    // the host, to systemd
	Failure   string    `json:"failure,omitempty"` // how the last process ended; empty: well, or it runs
	Restarts  string    `json:"restarts,omitempty"`
	DropIns   string    `json:"drop_ins,omitempty"` // the paths of the unit's drop-ins

	active string // as systemd says it
	stale  bool   // systemd has read an older unit
}

// errNoSystemd is returned where systemd does not run.
var errNoSystemd = errors.New("systemd does not run on this machine: run the host in a terminal multiplexer such as tmux, in a container, " +
	"or by the machine's own service manager, which is launchd on macOS")

// errNoUserManager is returned where systemd runs, and none for this user.
var errNoUserManager = errors.New("this user has no service manager in this session: log in as the user, not by su or sudo; " +
	"or let root run `loginctl enable-linger USER`, and set XDG_RUNTIME_DIR=/run/user/UID")

// doing are the words for systemd's states.
var doing = map[string]string{
	"active": "running", "reloading": "running", "activating": "starting", "deactivating": "stopping", "inactive": "stopped", "failed": "failed",
}

// failures are the words for systemd's results.
var failures = map[string]string{
	"success": "", "exit-code": "it exited with the code %s", "signal": "the signal %s ended it", "core-dump": "the signal %s ended it",
	"watchdog": "it hung, and systemd ended it", "timeout": "it took too long, and systemd ended it", "oom-kill": "the machine had no memory left",
	"start-limit-hit": "it failed too often, so systemd starts it no more",
}

// systemdTime is how systemd writes a time in UTC.
const systemdTime = "Mon 2006-01-02 15:04:05 UTC"

// State asks systemd how the service is.
func (s *Service) State(ctx context.Context) (State, error) {
	said, err := run(ctx, s.systemctl("show", Unit, "--property="+
		"LoadState,ActiveState,UnitFileState,MainPID,Result,ExecMainStatus,StateChangeTimestamp,StatusText,NRestarts,NeedDaemonReload,DropInPaths"))
	if err != nil {
		return State{}, s.explain(err)
	}
	is := map[string]string{}
	for line := range strings.Lines(said) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			is[name] = value
		}
	}
	state := State{
		Installed: is["LoadState"] != "not-found" || s.Installed(), Running: is["ActiveState"] == "active", Doing: doing[is["ActiveState"]],
		Enabled: strings.HasPrefix(is["UnitFileState"], "enabled"), Says: is["StatusText"], DropIns: is["DropInPaths"],
		active: is["ActiveState"], stale: is["NeedDaemonReload"] == "yes",
	}
	state.Since, _ = time.Parse(systemdTime, is["StateChangeTimestamp"])
	if pid := is["MainPID"]; pid != "0" {
		state.PID = pid
	}
	if restarts := is["NRestarts"]; restarts != "0" {
		state.Restarts = restarts
	}
	if state.Doing == "" {
		state.Doing = is["ActiveState"]
	}
	if !state.Running {
		state.Says = ""
		state.Failure = failure(is["Result"], is["ExecMainStatus"])
	}
	return state, nil
}

// failure says how a process ended.
func failure(result, status string) string {
	text, known := failures[result]
	switch {
	case !known:
		return result
	case strings.Contains(text, "%s"):
		return fmt.Sprintf(text, status)
	}
	return text
}

// explain says what an error of systemctl means where systemd does not run at all.
func (s *Service) explain(err error) error {
	var failed *CommandError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errNoSystemd
	case !errors.As(err, &failed):
		return err
	case strings.Contains(failed.Complaint, "not been booted with systemd"):
		return errNoSystemd
	case s.PerUser && strings.Contains(failed.Complaint, "connect to bus"):
		if !s.exists("/run/systemd/system") {
			return errNoSystemd
		}
		return errNoUserManager
	}
	return err
}

// wants reports whether the service runs or is meant to, such as one that fails again and again.
func (s State) wants() bool {
	return s.active != "" && s.active != "inactive" && s.active != "deactivating"
}
