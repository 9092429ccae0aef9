package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Bounds of /status and /debug.
const (
	maxChannels = 5
	maxLanes    = 10
	maxModels   = 10
)

// Status is what /status shows.
type Status struct {
	Version    string
	Now        time.Time
	Up         time.Duration
	Demo       bool
	Running    bool
	RunningFor time.Duration
	Waiting    int
	Questions  []OpenQuestion
	Todos      []domain.Todo // what the agent plans to do in the conversation
	Session    domain.Session
	Agent      string // that answers; empty: there is only one
	Folder     string // in which it works; empty: its workspace
	Model      string // the model in use
	Effort     string
	CLI        string // Claude Code, its version and login, for owners; empty: not shown, or not known yet
	Fast       bool   // fast mode is chosen
	Speed      string // what Claude Code says of it: on, off, cooldown; empty: nothing yet
	Slowed     string // why it is not on, in Claude Code's words; may be empty
	Permission string
	Queue      domain.Queueing
	Activation string // empty in a direct chat
	Muted      bool   // messages are not answered
	Authority  fmt.Stringer
	Channels   []string // a line each
	Plugins    []string // what they are doing, a line each
	Problems   []string // what is wrong with the host, the worst first, for owners
}

// OpenQuestion is an open question.
type OpenQuestion struct {
	ID      string
	About   string
	For     time.Duration // since it was asked
	Session string        // empty: it was asked in this conversation
}

// String implements fmt.Stringer.
func (s Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**clawhost %s**, up %s\n", s.Version, age(s.Up))
	if s.Demo {
		b.WriteString("\n- demo: a stand-in answers, not Claude")
	}
	if s.Running {
		fmt.Fprintf(&b, "\n- running for %s", age(s.RunningFor))
	} else {
		b.WriteString("\n- idle")
	}
	fmt.Fprintf(&b, ", %d waiting", s.Waiting)
	for _, q := range s.Questions {
		fmt.Fprintf(&b, "\n- waits for an answer to %s: %s, asked %s ago", Code(q.ID), Code(q.About), age(q.For))
		if q.Session != "" {
			b.WriteString(" in " + Code(q.Session))
		}
	}
	if len(s.Todos) > 0 {
		b.WriteString("\n- to do: " + todoCount(s.Todos))
		for _, line := range todoLines(s.Todos) {
			b.WriteString("\n  - " + line)
		}
	}
	if s.Agent != "" {
		b.WriteString("\n- agent " + Code(s.Agent))
	}
	if s.Folder != "" {
		b.WriteString("\n- folder " + Code(s.Folder))
	}
	fmt.Fprintf(&b, "\n- model %s", ModelName(s.Model))
	if s.Session.Model != "" && s.Session.Model != s.Model {
		fmt.Fprintf(&b, ", last answer by %s", ModelName(s.Session.Model))
	}
	fmt.Fprintf(&b, "\n- effort %s, permission mode %s", or(s.Effort, ClaudesChoice), s.Permission)
	if s.CLI != "" {
		b.WriteString("\n- " + s.CLI)
	}
	if s.Fast {
		b.WriteString("\n- fast mode " + speed(s.Speed, s.Slowed))
	}
	fmt.Fprintf(&b, "\n- %s\n- %s", filled(s.Session), spent(s.Session.Usage))
	fmt.Fprintf(&b, "\n- session %s", Code(s.Session.Key))
	if s.Session.Label != "" {
		fmt.Fprintf(&b, " (%s)", Code(s.Session.Label))
	}
	fmt.Fprintf(&b, ", begun %s ago", age(s.Now.Sub(begun(s.Session))))
	if !s.Session.InteractedAt.IsZero() {
		fmt.Fprintf(&b, ", last message %s ago", age(s.Now.Sub(s.Session.InteractedAt)))
	}
	fmt.Fprintf(&b, "\n- queue: %s", queueing(s.Queue))
	if s.Activation != "" {
		fmt.Fprintf(&b, "\n- activation: %s", s.Activation)
	}
	if s.Muted {
		b.WriteString("\n- sending is off: messages here are kept and not answered")
	}
	fmt.Fprintf(&b, "\n- you: %s", s.Authority)
	for _, line := range s.Channels[:min(len(s.Channels), maxChannels)] {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	if more := len(s.Channels) - maxChannels; more > 0 {
		fmt.Fprintf(&b, "\n- and %s more", plural(more, "channel"))
	}
	for _, line := range s.Plugins[:min(len(s.Plugins), maxChannels)] {
		fmt.Fprintf(&b, "\n- plugin %s", Code(line))
	}
	for _, line := range s.Problems[:min(len(s.Problems), maxChannels)] {
		b.WriteString("\n- " + Code(OneLine(line, maxCode)))
	}
	if more := len(s.Problems) - maxChannels; more > 0 {
		fmt.Fprintf(&b, "\n- and %s more", plural(more, "problem"))
	}
	return b.String()
}

// speed describes fast mode, which is chosen, by what Claude Code says of it.
func speed(state, why string) string {
	switch {
	case state == "" || state == "on":
		return "on"
	case state == "cooldown":
		return "on, but paused: too many requests"
	case why != "":
		return "on, but Claude Code does not use it: " + Code(why)
	default:
		return "on, but this model has none"
	}
}

// Usage is what /usage shows.
type Usage struct {
	Session    domain.Usage
	Everywhere bool // the totals of all sessions are known too
	Today      domain.Usage
	Days       int // the days of Recent
	Recent     domain.Usage
	Models     []ModelUsage // usage by model in that time
	Agents     []AgentUsage // usage by agent, if there are several
	Plan       []domain.PlanWindow
	Budgets    []domain.Budget
	Now        time.Time // in the agent's zone
	Footer     string    // the footer's setting, from [SettingIs]
}

// ModelUsage is what a model used.
type ModelUsage struct {
	Model string
	Usage domain.Usage
}

// AgentUsage is what an agent used, today and in the days of [Usage.Recent].
type AgentUsage struct {
	Agent         string
	Today, Recent domain.Spending
}

// String implements fmt.Stringer.
func (u Usage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Usage**\n\n- this conversation: %s", spent(u.Session))
	if u.Everywhere {
		fmt.Fprintf(&b, "\n- today, everywhere: %s", spent(u.Today))
		fmt.Fprintf(&b, "\n- last %d days, everywhere: %s", u.Days, spent(u.Recent))
		for _, m := range u.Models[:min(len(u.Models), maxModels)] {
			fmt.Fprintf(&b, "\n  - %s: %s", or(OneLine(m.Model, 80), "unknown model"), spent(m.Usage))
		}
	}
	for _, a := range u.Agents {
		fmt.Fprintf(&b, "\n- agent %s: today %s; last %d days %s", Escape(a.Agent), ofTurns(a.Today), u.Days, ofTurns(a.Recent))
	}
	for _, w := range u.Plan {
		fmt.Fprintf(&b, "\n- plan, %s: %.0f%% used", OneLine(w.Name, 80), w.Used)
		if !w.ResetsAt.IsZero() {
			fmt.Fprintf(&b, ", until %s", moment(w.ResetsAt.In(u.Now.Location()), u.Now))
		}
	}
	for _, budget := range u.Budgets {
		fmt.Fprintf(&b, "\n- %s: %s", ownBudget(budget), standing(budget, u.Now))
	}
	return b.String() + "\n\n" + u.Footer
}

// Settings are what /config shows.
type Settings struct {
	Path                      string // of the config file
	Model, Effort, Permission string
	Fast                      bool
	Queue                     domain.Queueing
	Verbose, Reasoning, Usage string
	Send, Activation, Speech  string // empty ones are not shown
	Chosen                    domain.Overrides
	Set                       []string // by /config set, each as name = value
}

// String implements fmt.Stringer.
func (s Settings) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Config** %s\n\nIn this conversation:\n", Code(s.Path))
	for _, setting := range []struct{ name, value string }{
		{"model", ModelName(s.Model)},
		{"effort", or(s.Effort, ClaudesChoice)},
		{"fast mode", map[bool]string{true: "on"}[s.Fast]},
		{"permission mode", s.Permission},
		{"queue", queueing(s.Queue)},
		{"verbose", s.Verbose},
		{"reasoning", s.Reasoning},
		{"usage", s.Usage},
		{"send", s.Send},
		{"activation", s.Activation},
		{"speech", s.Speech},
	} {
		if setting.value != "" {
			fmt.Fprintf(&b, "\n- %s: %s", setting.name, setting.value)
		}
	}
	fmt.Fprintf(&b, "\n\nChosen here, not by the file: %s.", chosen(s.Chosen))
	if len(s.Set) > 0 {
		b.WriteString("\n\nSet for all by `/config set`:\n" + bullets(s.Set))
	}
	return b.String()
}

// Debug is what /debug shows.
type Debug struct {
	Version, Go  string
	Up           time.Duration
	Goroutines   int
	InUse, Taken uint64 // bytes of memory
	Collections  uint32
	Claude       string // the claude processes, in a line
	Lanes        []domain.LaneStatus
	Errors       []string // lines of the log, oldest first
}

// maxLogLine bounds a line of the log in /debug, in characters.
const maxLogLine = 300

// String implements fmt.Stringer.
func (d Debug) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**clawhost %s**, %s, up %s\n", d.Version, d.Go, age(d.Up))
	fmt.Fprintf(&b, "\n- goroutines: %d", d.Goroutines)
	fmt.Fprintf(&b, "\n- memory: %s in use, %s from the system, %d collections", mebibytes(d.InUse), mebibytes(d.Taken), d.Collections)
	fmt.Fprintf(&b, "\n- claude: %s", d.Claude)
	fmt.Fprintf(&b, "\n- lanes with work: %d", len(d.Lanes))
	for _, lane := range d.Lanes[:min(len(d.Lanes), maxLanes)] {
		state := "waiting"
		if lane.Running {
			state = "running"
		}
		fmt.Fprintf(&b, "\n  - %s %s: %s, %d waiting, attempt %d", Code(lane.Session), lane.Lane, state, lane.Waiting, lane.Attempts)
	}
	fmt.Fprintf(&b, "\n- last errors: %d", len(d.Errors))
	if len(d.Errors) > 0 {
		lines := make([]string, len(d.Errors))
		for i, line := range d.Errors {
			lines[i] = OneLine(line, maxLogLine)
		}
		b.WriteString("\n\n" + block(strings.Join(lines, "\n")) + "\n\n`clawhost logs` shows more.")
	}
	return b.String()
}

// Answers of /restart.
const (
	Restarted           = "Restarted."
	Restarting          = "Restarting. What runs is finished first, or resumed afterwards."
	CannotRestartItself = "The host cannot restart itself here. Ask its operator to do it."
)

// RestartRefused explains why the host did not restart.
func RestartRefused(why error) string {
	return "I did not restart, because I could not start again:\n\n" + block(why.Error())
}
