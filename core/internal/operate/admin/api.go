// Package admin lets the clawhost command look into a running host and act on it, over a socket in the host's state
// folder that only the host's own user can open.
package admin

import (
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Status summarises the host.
type Status struct {
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Started   time.Time `json:"started,omitzero"`
	ConfigAt  time.Time `json:"config_at,omitzero"` // when the config was read that it works with
	Demo      bool      `json:"demo,omitempty"`
	Running   int       `json:"running"`
	Waiting   int       `json:"waiting"`
	Pending   int       `json:"pending"`
	Dead      int       `json:"dead"`
	Uncertain int64     `json:"uncertain"` // items that were sent again because a send's outcome was unknown
	Claude    Claude    `json:"claude"`
	Agents    []Agent   `json:"agents"` // main first
	Plugins   []Plugin  `json:"plugins"`
	// Questions are the open questions, oldest first; at most 100.
	Questions []Question `json:"questions,omitempty"`
	// Problems are what is wrong with the host, the worst first.
	Problems []health.Problem `json:"problems,omitempty"`
}

// Agent is an agent of the config, and what it does.
type Agent struct {
	Label       string   `json:"label"`
	Description string   `json:"description,omitempty"`
	Workspace   string   `json:"workspace"`
	Model       string   `json:"model,omitempty"` // empty: Claude Code's own
	OpenTo      string   `json:"open_to"`         // owners, allowed, everyone
	Running     []string `json:"running"`         // the sessions whose turns run
	Waiting     int      `json:"waiting"`         // messages that wait for their turn
}

// Question is a question of Claude to people.
type Question struct {
	ID      string    `json:"id"`
	About   string    `json:"about"` // a tool's name, or plan, choice or resume
	Session string    `json:"session"`
	Agent   string    `json:"agent"` // the session's
	Since   time.Time `json:"since,omitzero"`
	May     []string  `json:"may"` // who may answer it: "owner", "approver", or channel:user
}

// Claude is the process pool.
type Claude struct {
	Command     string `json:"command"`
	Running     int    `json:"running"`
	Idle        int    `json:"idle"`
	Spare       int    `json:"spare"`                  // processes that wait for a conversation to begin
	SpareMemory int64  `json:"spare_memory,omitempty"` // of these, in bytes; zero: not measured yet
	// How the CLI of the agent main was when it was last asked; empty: not known yet, or a demo.
	Version string `json:"version,omitempty"`
	Login   string `json:"login,omitempty"`   // logged in, not logged in, unknown
	Account string `json:"account,omitempty"` // how it is logged in
	Problem string `json:"problem,omitempty"` // why it cannot be used
	// Bytes; zero: unknown.
	Memory          int64 `json:"memory,omitempty"`           // of all processes and their tools
	MaxMemory       int64 `json:"max_memory,omitempty"`       // zero: no limit
	MachineMemory   int64 `json:"machine_memory,omitempty"`   // of the machine, or the container
	AvailableMemory int64 `json:"available_memory,omitempty"` // what it has left
	// Parked are the idle processes that were ended last, newest first; at most 5.
	Parked []Parked `json:"parked,omitempty"`
}

// Parked is an idle claude process that was ended.
type Parked struct {
	At      time.Time `json:"at,omitzero"`
	Session string    `json:"session,omitempty"`
	Why     string    `json:"why"` // such as unused, shortage, limit, grown, needed
}

// Processes describes the processes in a line.
func (c Claude) Processes() string {
	line := fmt.Sprintf("%d running, %d idle", c.Running, c.Idle)
	if c.Spare > 0 {
		line += fmt.Sprintf(", %d spare", c.Spare)
	}
	if c.SpareMemory > 0 {
		line += fmt.Sprintf(" (%d MB)", c.SpareMemory>>20)
	}
	return line
}

// CLI describes Claude Code in a line; empty: nothing is known.
func (c Claude) CLI() string {
	switch {
	case c.Problem != "":
		return c.Problem
	case c.Version == "":
		return ""
	}
	return cli.Installation{Version: c.Version, Login: cli.Login(c.Login), Account: c.Account}.String()
}

// Plugin is a plugin as `clawhost plugin list` shows it.
type Plugin struct {
	Name       string    `json:"name"`
	State      string    `json:"state"` // disabled, starting, running, waiting, failed, stopped
	Detail     string    `json:"detail,omitempty"`
	Version    string    `json:"version,omitempty"`
	Kinds      []string  `json:"kinds,omitempty"` // channel, commands, hook, tools, service
	PID        int       `json:"pid,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Restarts   int       `json:"restarts,omitempty"`
	Connection string    `json:"connection,omitempty"` // of a channel that runs: connecting, connected, disconnected, …
}

// Link is where a person opens a channel. It may hold a secret, so it is served on the control socket only.
type Link struct {
	Name string `json:"name"` // of the plugin
	Link string `json:"link"`
}

// LoginRequest asks for a login to a channel's account.
type LoginRequest struct {
	Plugin  string            `json:"plugin"`
	Answers map[string]string `json:"answers,omitempty"` // to input steps, by their ids
}

// LoginEvent is one line of the response to a login: a step, or the end, which is an account or an error. An input step
// is the last line: the login is requested again with the answer.
type LoginEvent struct {
	Step    *LoginStep `json:"step,omitempty"`
	Account string     `json:"account,omitempty"`
	Error   string     `json:"error,omitempty"`
}

// LoginStep is a step for a person: one of QR, Code and Input is set.
type LoginStep struct {
	ID           string `json:"id"`
	Instructions string `json:"instructions"`
	QR           string `json:"qr,omitempty"`    // the content of a QR code to scan
	Code         string `json:"code,omitempty"`  // a code to type elsewhere
	Input        string `json:"input,omitempty"` // the question to the person
}

// Queue is what waits and what runs.
type Queue struct {
	Lanes        []Lane                     `json:"lanes"`
	Destinations []domain.DestinationStatus `json:"destinations"`
	Questions    []Question                 `json:"questions,omitempty"`
	Uncertain    int64                      `json:"uncertain"`
}

// Lane is a lane with work.
type Lane struct {
	Session  string      `json:"session"`
	Agent    string      `json:"agent"` // the session's
	Lane     domain.Lane `json:"lane"`
	Waiting  int         `json:"waiting"`
	Running  bool        `json:"running"`
	Since    time.Time   `json:"since,omitzero"` // when its first message was received
	Attempts int         `json:"attempts"`
}

// Session is a session as `clawhost sessions` shows it.
type Session struct {
	Key           string       `json:"key"`
	Agent         string       `json:"agent"`
	Kind          string       `json:"kind"`
	Title         string       `json:"title,omitempty"`
	Route         chat.Address `json:"route"`
	ClaudeSession string       `json:"claude_session"`
	CreatedAt     time.Time    `json:"created_at,omitzero"`
	InteractedAt  time.Time    `json:"interacted_at,omitzero"` // when a person wrote last, or the heartbeat in its own; zero: never
	Model         string       `json:"model,omitempty"`
	Usage         domain.Usage `json:"usage"`
}

// DeadLetter is a message whose delivery was given up, as `clawhost queue dead` shows it.
type DeadLetter struct {
	ID        int64        `json:"id"`
	To        chat.Address `json:"to"`
	Text      string       `json:"text"`
	CreatedAt time.Time    `json:"created_at,omitzero"`
	DiedAt    time.Time    `json:"died_at,omitzero"`
	Attempts  int          `json:"attempts"`
	Error     string       `json:"error"`
	RunID     int64        `json:"run_id,omitempty"`  // zero: no run's
	Session   string       `json:"session,omitempty"` // the run's
	Files     []File       `json:"files,omitempty"`
}

// File is a file of a message.
type File struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // MIME
	Size int64  `json:"size,omitempty"` // bytes
}

// problem is the body of a response other than 200.
type problem struct {
	Error string `json:"error"`
}
