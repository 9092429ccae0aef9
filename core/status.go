package core

import (
	"github.com/clawhost/clawhost/core/internal/admin"
	"github.com/clawhost/clawhost/core/internal/config"
)

// status is what the clawhost command shows of the host.
func (h *Host) status() admin.Status {
	pool := h.claude.Stats()
	status := admin.Status{
		Version: h.options.Version, Started: h.started, Demo: h.options.Demo != "", Running: h.dispatcher.Count(),
		Claude: admin.Claude{Command: h.config.Claude.Command, Running: pool.Running, Idle: pool.Idle},
	}
	running := map[string]admin.Plugin{}
	for _, s := range h.supervisor.List() {
		p := admin.Plugin{
			Name: s.Name, State: string(s.State), Detail: s.Detail, Version: s.Version, Kinds: s.Kinds, PID: s.PID,
			Since: s.Since, Restarts: s.Restarts, Open: s.URL,
		}
		if s.Connection != 0 {
			p.Connection = s.Connection.String()
		}
		running[s.Name] = p
	}
	for _, p := range h.config.Plugins {
		status.Plugins = append(status.Plugins, plugin(p, running))
	}
	status.Questions = h.openQuestions()
	return status
}

// maxQuestions is how many open questions the clawhost command shows.
const maxQuestions = 100

func (h *Host) openQuestions() []admin.Question {
	open := h.questions.Open()
	list := make([]admin.Question, 0, min(len(open), maxQuestions))
	for _, q := range open[:cap(list)] {
		may := []string{"owner"}
		if len(h.config.For(q.To.Channel).Access.Approvers) > 0 {
			may = append(may, "approver")
		}
		if q.Asker != "" {
			may = append(may, q.Asker)
		}
		list = append(list, admin.Question{ID: q.ID, About: q.About, Session: q.Session, Since: q.Since, May: may})
	}
	return list
}

func plugin(p *config.Plugin, running map[string]admin.Plugin) admin.Plugin {
	if shown, ok := running[p.Label]; ok {
		return shown
	}
	return admin.Plugin{Name: p.Label, State: "disabled"}
}
