package plugins

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Problems implements [health.Source]: which plugins do not run, and which are not connected to their networks.
func (r *Registry) Problems(context.Context) (list []health.Report) {
	for _, s := range r.List() {
		report := health.Report{Subject: s.Name, Detail: s.Detail}
		switch {
		case s.Failure != nil:
			report.Code, report.Detail, report.Advice = health.PluginFailed, s.Failure.Why, s.Failure.Advice
			if s.Failure.Lacks {
				report.Code = health.PluginLacks
			}
		case s.State == Starting, s.State == Waiting:
			report.Code, report.Advice = health.PluginWaits, wording.AdviceWaits
		case s.State == Running && s.Connection != 0 && s.Connection != chat.Connected:
			report.Code, report.Advice = health.PluginDisconnected, wording.AdviceDisconnected
		default:
			continue
		}
		list = append(list, report)
	}
	return list
}
