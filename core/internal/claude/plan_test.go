package claude_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
)

// The limits of the login's plan are shown as far as the CLI reports them; a login by key has none.
// Behaviour: plan-usage.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits string
		want   []domain.PlanWindow
	}{
		"a key": {},
		"a plan": {
			limits: `{"five_hour":{"utilization":42.4,"resets_at":"2026-03-15T18:00:00Z"},"seven_day":{"utilization":7,"resets_at":null},
				"seven_day_opus":null,"model_scoped":[{"display_name":"Fable","utilization":1,"resets_at":"2026-03-20T00:00:00+00:00"}],"extra_usage":{"is_enabled":false}}`,
			want: []domain.PlanWindow{
				{Name: "5 hours", Used: 42.4, ResetsAt: time.Date(2026, 3, 15, 18, 0, 0, 0, time.UTC)},
				{Name: "7 days", Used: 7},
				{Name: "7 days, Fable", Used: 1, ResetsAt: time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)},
			},
		},
		"another form": {
			limits: `{"five_hour":"half","seven_day":{"utilization":12,"resets_at":"soon"},"model_scoped":{}}`,
			want:   []domain.PlanWindow{{Name: "7 days", Used: 12}},
		},
		"no object": {limits: `[1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if test.limits != "" {
				r.config.Env["CLAUDE_STUB_PLAN"] = test.limits
			}
			pool := r.pool()
			if list := pool.Plan(t.Context(), session.MainAgent); len(list) > 0 {
				t.Errorf("%v is known before the first turn", list)
			}
			r.ask(pool, r.turn("hello"))
			if diff := cmp.Diff(test.want, pool.Plan(t.Context(), session.MainAgent), cmp.Comparer(time.Time.Equal)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
