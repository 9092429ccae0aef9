package notice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
)

const (
	// againAfter is how long it takes until a notice that the store did not take is tried again.
	againAfter = time.Minute
	// sameOutage is the interval in which hosts that follow each other do not repeat a notice.
	sameOutage = 10 * time.Minute
)

// told is a problem that was logged, and of which the owners were told or will be.
type told struct {
	health.Problem
	sent  bool
	tried time.Time // when that failed; zero: it did not
}

// Problems notifies the owners, until ctx ends, of what is wrong with the host, and when it is over.
func (o *Owners) Problems(ctx context.Context, registry *health.Registry) {
	tick := time.NewTicker(health.Every)
	defer tick.Stop()
	known := map[health.ID]*told{}
	count := 0 // of the notices, so that a problem which returns is told again
	for {
		changed := o.plugins.Changed()
		list, behind := registry.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		there := map[health.ID]bool{}
		for _, p := range behind {
			there[p.ID()] = true
		}
		for _, p := range list {
			there[p.ID()] = true
			t := known[p.ID()]
			if t == nil {
				if p.Code != health.ConfigWarning && p.Code != health.ConfigRefused { // which are logged as they stand in the config
					o.log.Warn("a problem", "code", p.Code, "about", p.Subject, "problem", p.Text)
				}
				t = &told{}
				known[p.ID()] = t
			}
			t.Problem = p
			if !t.sent && time.Since(t.tried) >= againAfter {
				count++
				t.sent, t.tried = o.begins(p, count), time.Now()
			}
		}
		o.solve(known, there)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
		}
	}
}

// begins notifies the owners of a problem. It is not repeated by a host that was killed meanwhile.
func (o *Owners) begins(p health.Problem, count int) (all bool) {
	text := p.Notice()
	if text == "" {
		return true
	}
	of := sha256.Sum256([]byte(text))
	return o.tell(domain.KeyProblem.Of(p.Code, p.Subject, count, hex.EncodeToString(of[:8]), time.Now().Truncate(sameOutage).Unix()), p.Subject, text)
}

// solve notifies the owners of the problems that are over, unless another one, of which they were told as well, is not: the plugin that was
// waited for has failed.
func (o *Owners) solve(known map[health.ID]*told, there map[health.ID]bool) {
	remain := map[string]bool{}
	for id, t := range known {
		if there[id] {
			remain[t.Over()] = true
		}
	}
	for id, t := range known {
		if there[id] {
			continue
		}
		delete(known, id)
		o.log.Info("a problem is solved", "code", t.Code, "about", t.Subject)
		if over := t.Over(); t.sent && over != "" && !remain[over] {
			remain[over] = true
			o.tell(domain.Key{}, t.Subject, over)
		}
	}
}
