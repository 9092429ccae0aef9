package tools_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// unheard is an intake that takes nothing.
type unheard struct{}

func (unheard) OfJob(context.Context, domain.Key, string, chat.Caller, string) (bool, error) {
	return false, nil
}

// Nothing starts without a permission for exactly this use, and not where Bash may not be used.
// Behaviour: jobs-asked.
func TestJobsNeedPermission(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := newRig(t, func(o *tools.Options) {
		o.Jobs = jobs.New(jobs.Options{
			Config: &config.Config{}, Folder: filepath.Join(t.TempDir(), "jobs"), Store: s, Intake: unheard{}, Program: "/nowhere",
		}, hclog.NewNullLogger())
	})
	turn := r.Turn("1", anna)
	const run = `{"action": "run", "command": "touch x"}`
	turn.Permit("another use", []byte(run))
	turn.Permit("", []byte(run))
	if got := use(t, turn, "jobs", run); got.text() != "Nobody was asked about this job, so it was not started." || !got.IsError {
		t.Errorf("a job without a permission: %+v", got)
	}
	// A permission is for exactly one job.
	turn.Permit("toolu_1", []byte(`{"action": "list"}`))
	turn.Permit("toolu_1", []byte(`{"action": "run", "command": "another"}`))
	if got := use(t, turn, "jobs", run); got.text() != "Nobody was asked about this job, so it was not started." {
		t.Errorf("a job with the permission of another: %+v", got)
	}
	for arguments, want := range map[string]string{
		`{"action": "run", "command": " "}`:                                                "Give a command.",
		`{"action": "run", "command": "a\u0000b"}`:                                         "NUL",
		`{"action": "run", "command": "` + strings.Repeat("x", 17<<10) + `"}`:              "at most 16384",
		`{"action": "run", "command": "x", "tell_after_minutes": -1}`:                      "The minutes are from 1",
		`{"action": "run", "command": "x", "tell_after_minutes": 99999999999999}`:          "The minutes are from 1",
		`{"action": "run", "command": "x", "tell_on": "` + strings.Repeat("x", 501) + `"}`: "at most 500",
		`{"action": "go"}`:               `The action is "run"`,
		`{"action": "read", "job": 7}`:   "This conversation has no job 7",
		`{"action": "stop", "job": -1}`:  "This conversation has no job -1",
		`{"action": "list"}`:             "This conversation has no jobs.",
		`{"action": "list", "shell": 1}`: "unknown field",
	} {
		if got := use(t, turn, "jobs", arguments); !strings.Contains(got.text(), want) {
			t.Errorf("%.60s is answered with %q, want %q", arguments, got.text(), want)
		}
	}
	if list, err := s.Jobs(t.Context(), 10); err != nil || len(list) > 0 {
		t.Errorf("there are the jobs %+v, %v", list, err)
	}
}

// Only a use that starts a command needs a permission; what cannot be read is taken for one.
func TestRunsJob(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]bool{
		`{"action": "run", "command": "x"}`: true, `{"action": "list"}`: false, `{"action": "read", "job": 1}`: false, `{"action": "stop", "job": 1}`: false,
		`{}`: true, `[]`: true, `{"action": "List"}`: true, `{"action": "list", "Action": "run"}`: true, ``: true,
	} {
		if _, got := tools.RunsJob([]byte(arguments)); got != want {
			t.Errorf("%s runs a job: %v, want %v", arguments, got, want)
		}
	}
}
