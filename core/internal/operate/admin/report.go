package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
)

// maxQuestions bounds the open questions in a status.
const maxQuestions = 100

// Claudes are the claude processes, and the CLI that they run.
type Claudes interface {
	Stats() claude.Stats
	Installation() claude.Installation
	Inspected() <-chan struct{}
}

// Host reports the state of the host that is not in the store.
type Host struct {
	Version    string
	Started    time.Time
	Demo       bool
	Config     config.Getter
	Dispatcher *dispatch.Dispatcher
	Fleet      *fleet.Fleet
	Claude     Claudes
	Plugins    *plugins.Registry
	Approvals  *permission.Approvals
	Health     *health.Registry
	Views      *view.Views // of the turns that run
}

// Status reports its parts. It holds no secret, and no questions.
func (h Host) Status() Status {
	pool, installed := h.Claude.Stats(), h.Claude.Installation()
	status := Status{
		Version: h.Version, Started: h.Started, ConfigAt: h.Config.Get().ReadAt(), Demo: h.Demo, Running: h.Dispatcher.Count(),
		Claude: Claude{
			Command: h.Config.Get().Agent.Claude.Command, Running: pool.Running, Idle: pool.Idle, Spare: pool.Spare, SpareMemory: pool.SpareMemory,
			Version: installed.Version, Login: string(installed.Login), Account: installed.Account, Problem: installed.Problem,
			Memory: pool.Memory, MaxMemory: pool.Limit, MachineMemory: pool.Total, AvailableMemory: pool.Available,
		},
	}
	for _, p := range pool.Parked {
		status.Claude.Parked = append(status.Claude.Parked, Parked{At: p.At, Session: p.Session, Why: string(p.Why)})
	}
	for _, agent := range h.Config.Get().AllAgents() {
		status.Agents = append(status.Agents, Agent{
			Label: agent.Label, Description: agent.Description, Workspace: agent.Workspace, Model: agent.Claude.Model, OpenTo: agent.OpenTo,
			Running: []string{},
		})
	}
	running := map[string]Plugin{}
	for _, s := range h.Plugins.List() {
		p := Plugin{
			Name: s.Name, State: string(s.State), Detail: cmp.Or(s.Detail, s.Doing), Version: s.Version, Kinds: s.Kinds, PID: s.PID,
			Since: s.Since, Restarts: s.Restarts,
		}
		if s.Connection != 0 {
			p.Connection = s.Connection.String()
		}
		running[s.Name] = p
	}
	for _, p := range h.Config.Get().Plugins {
		shown, ok := running[p.Label]
		if !ok {
			shown = Plugin{Name: p.Label, State: "disabled"}
		}
		status.Plugins = append(status.Plugins, shown)
	}
	return status
}

// Links are the links of the plugins that have one.
func (h Host) Links() []Link {
	list := []Link{}
	for _, s := range h.Plugins.List() {
		if s.URL != "" {
			list = append(list, Link{Name: s.Name, Link: s.URL})
		}
	}
	return list
}

// Questions are the open questions, oldest first, as a status shows them.
func (h Host) Questions(ctx context.Context) ([]Question, error) {
	open, err := h.Approvals.Open(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Question, 0, min(len(open), maxQuestions))
	for _, q := range open[:cap(list)] {
		list = append(list, Question{
			ID: q.ID, About: q.About, Session: q.Session, Agent: session.AgentOf(q.Session), Since: q.Since, May: h.mayAnswer(q),
		})
	}
	return list, nil
}

// mayAnswer lists who may answer a question in the chat.
func (h Host) mayAnswer(q permission.Open) []string {
	may := []string{"owner"}
	if len(h.Config.Get().For(q.To.Channel).Access.Approvers) > 0 {
		may = append(may, "approver")
	}
	if q.Asker != "" {
		may = append(may, q.Asker)
	}
	return may
}

// Descendants are [Peers] that refuse the processes that this host or a previous one has started.
type Descendants struct{}

// Admit implements [Peers]. What comes from another machine is not of the agent's.
func (Descendants) Admit(local, remote netip.AddrPort) error {
	here, err := onThisMachine(local.Addr(), remote.Addr())
	if err != nil || !here {
		return err
	}
	below, err := process.HoldBelow(remote, local, nil)
	if err != nil {
		return fmt.Errorf("the peer of the connection is unknown: %w", err)
	}
	if below {
		return errors.New("the connection comes from the agent or a plugin, or their processes")
	}
	return nil
}

// onThisMachine reports whether the remote end of a connection is on this machine.
func onThisMachine(local, remote netip.Addr) (bool, error) {
	remote = remote.Unmap().WithZone("")
	if remote.IsLoopback() || remote == local.Unmap().WithZone("") {
		return true, nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("look at the machine's addresses: %w", err)
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == remote
	}), nil
}

// Refused implements [Peers].
func (Descendants) Refused(pid int) bool {
	if pid == 0 { // this system does not report it
		return false
	}
	below, err := process.Below(pid, os.Getpid())
	return err != nil || below || cli.IsTool(pid)
}
