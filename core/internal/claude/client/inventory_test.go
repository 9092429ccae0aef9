package client

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// A lost part of a conversation is news for an hour. What is no conversation is only logged.
// Behaviour: transcript-lost.
func TestLosses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newUnstarted(t, agent.Turn{Session: "s"})
		s.inventory = NewInventory(nil, new(sync.WaitGroup), hclog.NewNullLogger())
		for _, tc := range []struct {
			line, why string
		}{
			{`{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["global_config"]}`, ""},
			{`{"type":"system","subtype":"session_writes_lost","error_code":"EDQUOT","lost":["global_config","transcript"],"transcript_session_ids":["s"]}`, "EDQUOT"},
			{`{"type":"system","subtype":"session_writes_lost","error_code":5,"lost":["transcript"]}`, ""}, // of another form
		} {
			s.line(t, []byte(tc.line))
			if got := s.inventory.Lost(); got.Why != tc.why {
				t.Errorf("after %s: %+v", tc.line, got)
			}
		}
		time.Sleep(lostFor - time.Second)
		if got := s.inventory.Lost(); got.At.IsZero() {
			t.Error("it is forgotten too soon")
		}
		time.Sleep(time.Second)
		if got := s.inventory.Lost(); !got.At.IsZero() {
			t.Errorf("it is still news: %+v", got)
		}
	})
}
