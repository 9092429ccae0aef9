// Package health knows what is wrong with the host: it asks the parts of the host, leaves out what passes by itself or follows from
// something else, and keeps a problem that comes and goes one problem.
package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

const (
	// Every is how often somebody must look, so that what comes and goes is seen.
	Every = 5 * time.Second
	// returning is how long after a problem was solved its return is one.
	returning = time.Hour
	// maxDoubled is how often the time that a problem must be gone is doubled.
	maxDoubled = 7
	// maxDetail bounds a reason, in characters: it may be a program's.
	maxDetail = 1000
	// maxKept bounds the problems, most of which are about a block of the config.
	maxKept = 1000
)

// Report is what a source says is wrong now.
type Report struct {
	Code    Code
	Subject string // the label of the block of the config that it is about; empty: the host
	Detail  string // the literal reason; may be empty
	Advice  string // what to do
}

// Source is a part of the host that can be asked what is wrong with it. It answers soon, without an error, because what it cannot find out
// is a problem itself.
type Source interface {
	Problems(ctx context.Context) []Report
}

// ID identifies a problem, from its beginning to its end.
type ID struct {
	Code    Code
	Subject string
}

// Problem is something that is wrong with the host.
type Problem struct {
	Code     Code      `json:"code"`
	Severity Severity  `json:"severity"`
	Subject  string    `json:"subject,omitempty"` // the label of the block of the config that it is about; empty: the host
	Text     string    `json:"text"`
	Detail   string    `json:"detail,omitempty"` // the literal reason, which is a part of the text
	Advice   string    `json:"advice,omitempty"` // what to do
	Since    time.Time `json:"since,omitzero"`
	// Gone is since when it is not there. It is shown until it is clear that it does not return at once; zero: it is there.
	Gone time.Time `json:"gone,omitzero"`
}

// ID returns what identifies the problem.
func (p Problem) ID() ID { return ID{p.Code, p.Subject} }

// Notice is what owners are told; empty: nothing.
func (p Problem) Notice() string {
	kind, _ := kindOf(p.Code)
	if kind.Over == "" {
		return ""
	}
	return wording.Problem(about(kind.Title, p.Subject), p.Detail, p.Advice)
}

// Over is what owners are told when it is over; empty: nothing.
func (p Problem) Over() string {
	kind, _ := kindOf(p.Code)
	return about(kind.Over, p.Subject)
}

// about completes a text of a kind.
func about(text, subject string) string {
	if strings.Contains(text, "%s") {
		return fmt.Sprintf(text, subject)
	}
	return text
}

// episode is a problem from when it is first seen until it is solved, and after that for as long as its return is one.
type episode struct {
	report  Report
	since   time.Time
	looked  time.Time     // when it was last asked for
	gone    time.Time     // since when it is not there; zero: it is
	lasted  time.Duration // in sum
	shown   bool
	solved  bool
	returns int // how often it has returned
}

// Registry knows the problems of the host. It is safe for concurrent use.
type Registry struct {
	sources []Source

	mu       sync.Mutex
	episodes map[ID]*episode
}

// New returns the registry of these sources. Somebody must look at least each [Every].
func New(sources ...Source) *Registry {
	return &Registry{sources: sources, episodes: map[ID]*episode{}}
}

// List returns what is wrong, the worst first. A nil registry knows of nothing.
func (r *Registry) List(ctx context.Context) []Problem {
	if r == nil {
		return nil
	}
	list, _ := r.Look(ctx)
	return list
}

// Look asks the sources, and returns what is wrong, and what follows from that and is not shown, the worst first.
func (r *Registry) Look(ctx context.Context) (list, behind []Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reports []Report
	for _, s := range r.sources {
		reports = append(reports, s.Problems(ctx)...)
	}
	if ctx.Err() == nil { // otherwise the sources could not find out
		r.note(reports, time.Now())
	}
	return r.shown()
}

// note takes what the sources report at a time.
func (r *Registry) note(reports []Report, now time.Time) {
	there := map[ID]bool{}
	for _, report := range reports {
		id := ID{report.Code, report.Subject}
		if there[id] {
			continue // another source says the same
		}
		e := r.episodes[id]
		if e == nil && len(r.episodes) >= maxKept {
			continue
		}
		there[id] = true
		switch {
		case e == nil:
			e = &episode{since: now}
		case e.solved:
			e = &episode{since: now, returns: e.returns + 1}
		case e.gone.IsZero():
			e.lasted += now.Sub(e.looked)
		}
		report.Detail = wording.OneLine(report.Detail, maxDetail)
		e.report, e.looked, e.gone = report, now, time.Time{}
		kind, _ := kindOf(report.Code)
		e.shown = e.shown || e.lasted >= kind.After
		r.episodes[id] = e
	}
	for id, e := range r.episodes {
		if !there[id] && e.leaves(id.Code, now) {
			delete(r.episodes, id)
		}
	}
}

// leaves notes that a problem is not there, and reports whether it can be forgotten.
func (e *episode) leaves(code Code, now time.Time) bool {
	if e.gone.IsZero() {
		e.lasted, e.gone = e.lasted+now.Sub(e.looked), now
	}
	kind, _ := kindOf(code)
	if now.Sub(e.gone) < kind.Until<<min(e.returns, maxDoubled) {
		return false
	}
	e.solved = true
	return !e.shown || now.Sub(e.gone) >= returning
}

// shown returns the problems that have lasted long enough, without and with a cause that is shown, the worst first.
func (r *Registry) shown() (list, behind []Problem) {
	for id, e := range r.episodes {
		if !e.shown || e.solved {
			continue
		}
		kind, _ := kindOf(id.Code)
		p := Problem{
			Code: id.Code, Severity: kind.Severity, Subject: id.Subject, Text: wording.ProblemLine(about(kind.Title, id.Subject), e.report.Detail),
			Detail: e.report.Detail, Advice: e.report.Advice, Since: e.since, Gone: e.gone,
		}
		if slices.ContainsFunc(kind.Causes, func(cause Code) bool { return r.shows(cause, id.Subject) || r.shows(cause, "") }) {
			behind = append(behind, p)
		} else {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, byWorst)
	slices.SortFunc(behind, byWorst)
	return list, behind
}

func byWorst(a, b Problem) int {
	_, first := kindOf(a.Code)
	_, second := kindOf(b.Code)
	return cmp.Or(cmp.Compare(first, second), cmp.Compare(a.Subject, b.Subject))
}

func (r *Registry) shows(code Code, subject string) bool {
	e := r.episodes[ID{code, subject}]
	return e != nil && e.shown && !e.solved
}
