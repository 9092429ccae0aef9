package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What the store could not have delivered is a problem, and that it does not answer; then it knows nothing else.
// Behaviour: health-shown.
func TestProblems(t *testing.T) {
	t.Parallel()
	b := setup(t)
	check := func(name string, want ...health.Report) {
		t.Helper()
		if diff := cmp.Diff(want, b.Problems(b.ctx)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	check("nothing")
	for _, to := range []chat.Address{{Channel: "telegram", Chat: "1"}, {Channel: "discord", Chat: "2"}} {
		if _, err := b.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: to, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	check("two that wait")
	if err := b.Retry(b.ctx, b.deliveries(t, "telegram")[0].ID, domain.Retry{At: b.clock.Now().Add(time.Minute), Cause: "no route"}); err != nil {
		t.Fatal(err)
	}
	late := health.Report{Code: health.DeliveriesWait, Subject: "telegram", Detail: "no route", Advice: wording.AdviceDeliveries}
	check("one that failed", late)
	if err := b.DeadLetter(b.ctx, b.deliveries(t, "discord")[0].ID, "refused"); err != nil {
		t.Fatal(err)
	}
	check("and one that is dead", late, health.Report{Code: health.DeadLetters, Detail: "1", Advice: wording.AdviceDeadLetters})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if list := b.Problems(b.ctx); len(list) != 1 || list[0].Code != health.StoreFails {
		t.Errorf("a store that is closed has %+v", list)
	}
}
