package plugins_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A plugin that does not run, or is not connected, is a problem: one, by what is known to be the worst.
// Behaviour: health-shown.
func TestProblemsOfPlugins(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status plugins.Status
		want   []health.Report
	}{
		"runs":        {plugins.Status{State: plugins.Running}, nil},
		"connected":   {plugins.Status{State: plugins.Running, Connection: chat.Connected}, nil},
		"going down":  {plugins.Status{State: plugins.Stopped}, nil},
		"starts":      {plugins.Status{State: plugins.Starting}, []health.Report{{Code: health.PluginWaits, Advice: wording.AdviceWaits}}},
		"ended":       {plugins.Status{State: plugins.Waiting, Detail: "it died"}, []health.Report{{Code: health.PluginWaits, Detail: "it died", Advice: wording.AdviceWaits}}},
		"no network":  {plugins.Status{State: plugins.Running, Connection: chat.Disconnected, Detail: "no route"}, []health.Report{{Code: health.PluginDisconnected, Detail: "no route", Advice: wording.AdviceDisconnected}}},
		"failed":      {plugins.Status{State: plugins.Failed, Detail: "now", Failure: &plugins.Failure{Why: "why", Advice: "do"}}, []health.Report{{Code: health.PluginFailed, Detail: "why", Advice: "do"}}},
		"tried again": {plugins.Status{State: plugins.Starting, Failure: &plugins.Failure{Why: "why", Advice: "do"}}, []health.Report{{Code: health.PluginFailed, Detail: "why", Advice: "do"}}},
		"no memory":   {plugins.Status{State: plugins.Waiting, Failure: &plugins.Failure{Why: "why", Lacks: true}}, []health.Report{{Code: health.PluginLacks, Detail: "why"}}},
	} {
		r := plugintest.Registry("echo")
		r.Entry("echo").Update(func(s *plugins.Status) { *s = test.status; s.Name = "echo" })
		for i := range test.want {
			test.want[i].Subject = "echo"
		}
		if diff := cmp.Diff(test.want, r.Problems(t.Context())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
