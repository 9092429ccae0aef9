package claude

import (
	"context"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/client"
)

const (
	// inspectEvery is how often the CLI is asked how it is, which uses half a second of a core.
	inspectEvery = time.Hour
	// inspectedFor is how old a good answer may be when somebody wants to know, troubleFor a bad one, which a person may have ended.
	inspectedFor = 10 * time.Minute
	troubleFor   = time.Minute
)

// Installation is the CLI of the agent main as it was last asked.
type Installation struct {
	cli.Installation
	Problem string    // why it cannot be used, or is too old; empty: it can
	At      time.Time // zero: not asked yet
}

// String describes it in a line; empty: nothing is known.
func (i Installation) String() string {
	switch {
	case i.Problem != "":
		return i.Problem
	case i.Version == "":
		return ""
	}
	return i.Installation.String()
}

// usable reports whether nothing is known that keeps the CLI from its work.
func (i Installation) usable() bool { return i.Problem == "" && i.Login != cli.LoggedOut }

// Installation returns how the CLI is, as far as that is known, and has it asked again soon if that was some time ago.
func (p *Pool) Installation() Installation { return p.installation(inspectedFor) }

// Problems implements [health.Source]. While the CLI cannot be used, it is asked again each minute.
func (p *Pool) Problems(context.Context) (list []health.Report) {
	var last client.Loss
	for _, a := range p.agents {
		if lost := a.inventory.Lost(); lost.At.After(last.At) {
			last = lost
		}
	}
	if !last.At.IsZero() {
		list = append(list, health.Report{Code: health.TranscriptLost, Detail: wording.Unwritten(last.Why), Advice: wording.AdviceTranscript})
	}
	switch i := p.installation(inspectEvery); {
	case i.Problem != "":
		list = append(list, health.Report{Code: health.ClaudeUnusable, Detail: i.Problem, Advice: wording.AdviceKept})
	case i.Login == cli.LoggedOut:
		list = append(list, health.Report{Code: health.ClaudeLoggedOut, Advice: wording.AdviceLogin})
	}
	return list
}

// installation is [Pool.Installation] for somebody to whom a good answer may be so old.
func (p *Pool) installation(fresh time.Duration) Installation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.installed.usable() {
		fresh = troubleFor
	}
	if time.Since(p.installed.At) > fresh {
		select {
		case p.inspect <- struct{}{}:
		default: // it is being asked
		}
	}
	return p.installed
}

// Inspected returns a channel that is closed once the CLI was asked. In a demo it is closed when [Pool.Inspect] begins.
func (p *Pool) Inspected() <-chan struct{} { return p.inspected }

// Inspect asks the CLI how it is, now and then, until ctx ends, and logs each change. In a demo nothing is asked. It is called once.
func (p *Pool) Inspect(ctx context.Context) {
	first := sync.OnceFunc(func() { close(p.inspected) })
	defer first()
	if p.config.Demo {
		return
	}
	tick := time.NewTicker(inspectEvery)
	defer tick.Stop()
	options := p.config.Agents[session.MainAgent]
	options.Family = p.config.Family
	for {
		found, err := cli.Inspect(ctx, options)
		if ctx.Err() != nil {
			return
		}
		p.note(found, err)
		first()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.inspect:
		}
	}
}

// note keeps and logs how the CLI is.
func (p *Pool) note(found cli.Installation, err error) {
	now := Installation{Installation: found, At: time.Now()}
	switch {
	case err != nil:
		now.Problem = err.Error()
	case found.TooOld():
		now.Problem = "this host needs version " + cli.Oldest + " or newer: `npm install -g @anthropic-ai/claude-code`"
	}
	p.mu.Lock()
	before := p.installed
	p.installed = now
	p.mu.Unlock()
	switch {
	case before.Installation == now.Installation && before.Problem == now.Problem && !before.At.IsZero():
	case now.Problem != "":
		p.log.Error("Claude Code cannot be used", "version", found.Version, "path", found.Path, "why", now.Problem)
	case found.Login == cli.LoggedOut:
		p.log.Warn("Claude Code is not logged in; log in as the host's user: `claude auth login`", "version", found.Version, "path", found.Path)
	default:
		p.log.Info("Claude Code", "version", found.Version, "login", found.Login, "account", found.Account, "path", found.Path)
	}
}
