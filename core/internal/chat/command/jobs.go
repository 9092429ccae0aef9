package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxJobs is how many jobs a list has.
	maxJobs = 10
	// maxJobButtons is for how many of them there are buttons.
	maxJobButtons = 4
	// jobOutput is how much of the end of a job's output is shown, in bytes.
	jobOutput = 32 << 10
)

// jobs lists the jobs of the session, or, for an owner in private, of all.
func (d hostCommands) jobs(ctx context.Context, call Call) (Answer, error) {
	of := call.Caller.Session
	if jobs.Everywhere(call.Caller) {
		of = ""
	}
	list, err := d.host.Jobs.Of(ctx, of, maxJobs)
	if err != nil {
		return Answer{}, err
	}
	var buttons []chat.Button
	for _, j := range list {
		if len(buttons) >= 2*maxJobButtons {
			break
		}
		number := strconv.FormatInt(j.ID, 10)
		buttons = append(buttons, chat.Button{Label: wording.ShowJobLabel + number, Data: "/job " + number})
		if !j.Ended() {
			buttons = append(buttons, chat.Button{Label: wording.StopJobLabel + number, Data: "/job " + number + " stop"})
		}
	}
	return Answer{Text: wording.Jobs(list, d.host.Now()), Buttons: buttons}, nil
}

// job shows or stops one.
func (d hostCommands) job(ctx context.Context, call Call) (Answer, error) {
	number, rest, _ := strings.Cut(strings.TrimSpace(call.Args), " ")
	rest = strings.ToLower(strings.TrimSpace(rest))
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || rest != "" && rest != "stop" {
		return Answer{Text: wording.JobUsage}, nil
	}
	j, err := d.host.Jobs.For(ctx, call.Caller, id)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return Answer{Text: wording.NoJob(id)}, nil
	case err != nil:
		return Answer{}, err
	case rest == "stop":
		return d.stopJob(ctx, call, j)
	}
	part, kept, err := d.host.Jobs.Read(id, -1, jobOutput)
	if err != nil { // the row has its end
		d.host.Log.Warn("the output of a job cannot be read", "job", id, "error", err)
		part, kept = []byte(j.Tail), j.Output
	}
	shown := wording.Job{Job: j, Now: d.host.Now(), Kept: kept}
	answer := d.shown(ctx, call, fmt.Sprintf("job-%d.txt", id), part, &shown.Shown, &shown)
	if !j.Ended() {
		answer.Buttons = []chat.Button{{Label: wording.StopJobLabel + number, Data: "/job " + number + " stop"}}
	}
	return answer, nil
}

func (d hostCommands) stopJob(ctx context.Context, call Call, j domain.Job) (Answer, error) {
	stopped, err := d.host.Jobs.Stop(ctx, j.ID, who(call.Caller))
	if err != nil && !errors.Is(err, jobs.ErrEnded) {
		return Answer{}, err
	}
	if err == nil {
		d.host.Log.Info("a job was stopped", "job", j.ID, "session", j.Session, "by", who(call.Caller))
	}
	return Answer{Text: wording.JobOver(stopped, d.host.Now())}, nil
}

// going says which jobs of the session run, which /stop leaves alone; empty: none.
func (d hostCommands) going(ctx context.Context, call Call) string {
	if d.host.Jobs == nil {
		return ""
	}
	running, err := d.host.Jobs.Running(ctx, call.Caller.Session)
	if err != nil {
		d.host.Log.Warn("the running jobs cannot be looked up", "session", call.Caller.Session, "error", err)
	}
	var numbers []int64
	for _, j := range running {
		numbers = append(numbers, j.ID)
	}
	return wording.JobsGoOn(numbers)
}
