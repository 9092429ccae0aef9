package dispatch

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Whatever claims, asks, is answered and ends: no more work than may, some places are only owners', and no run waits for a
// place that is free.
// Behaviour: owner-first.
func TestPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 4).Draw(t, "total")
		owners := rapid.Bool().Draw(t, "owners")
		reserved, waits, othersWait := 0, max(total, 2), max(total, 2)
		if owners {
			reserved, othersWait = min(1, total-1), waits-1
		}
		p := newPlaces(total, owners)
		var runs []*running
		var looking context.Context // of the claim under way; nil: none
		var whose domain.Whose
		some := func() *running {
			if len(runs) == 0 {
				t.Skip("nothing runs")
			}
			return rapid.SampledFrom(runs).Draw(t, "run")
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				if looking != nil || p.working >= total {
					t.Skip("there is no place")
				}
				looking, whose, _ = p.claim(t.Context())
			},
			"claimed": func(t *rapid.T) {
				if looking == nil {
					t.Skip("nothing is being claimed")
				}
				looking = nil
				if rapid.Bool().Draw(t, "nothing") {
					p.claimed(nil)
					return
				}
				r := &running{run: &domain.Run{}, places: p}
				if whose == domain.Owners || rapid.Bool().Draw(t, "owner") {
					r.run.Head.Message.Authority = chat.Owner
				}
				p.claimed(r)
				runs = append(runs, r)
			},
			"pause": func(t *rapid.T) {
				r := some()
				asked := r.questions
				switch ok := p.pause(r); {
				case ok && r.questions != asked+1, !ok && r.questions != asked:
					t.Fatalf("a run that had asked %d questions has asked %d", asked, r.questions)
				case !ok && p.pausing < waits && p.othersPausing < othersWait:
					t.Fatalf("%d wait for people, %d of them not owners', and one more may not, with %d places", p.pausing, p.othersPausing, total)
				case !ok && (r.owner() || r.paused):
					t.Fatal("an owner's run, or one that waits already, may not wait")
				case ok && !r.paused && !r.owner():
					t.Fatal("a run that is not an owner's keeps its place while people are asked")
				}
			},
			"resume": func(t *rapid.T) {
				r := some()
				if r.questions == 0 {
					t.Skip("it has asked nothing")
				}
				p.resume(r)
			},
			"end": func(*rapid.T) {
				r := some()
				p.end(r)
				runs = slices.DeleteFunc(runs, func(o *running) bool { return o == r })
			},
			"": func(t *rapid.T) {
				working, others, pausing, othersPausing := 0, 0, 0, 0
				for _, r := range runs {
					switch {
					case r.paused && r.owner():
						pausing++
					case r.paused:
						pausing++
						othersPausing++
					case r.owner():
						working++
					default:
						working++
						others++
					}
				}
				if working != p.working || others != p.othersWorking || pausing != p.pausing || othersPausing != p.othersPausing {
					t.Fatalf("counted %d, %d, %d, %d; there are %d, %d, %d, %d", p.working, p.othersWorking, p.pausing, p.othersPausing, working, others, pausing, othersPausing)
				}
				kept, keptOthers := 0, 0
				if p.claiming {
					kept = 1
					if !p.claimingOwners {
						keptOthers = 1
					}
				}
				if working+kept > total || others+keptOthers > total-reserved {
					t.Fatalf("%d work, %d of them not owners', and %d and %d are being claimed, with %d places and %d reserved", working, others, kept, keptOthers, total, reserved)
				}
				if pausing > waits || othersPausing > othersWait {
					t.Fatalf("%d wait for people, %d of them not owners', with %d places", pausing, othersPausing, total)
				}
				for _, r := range p.returning {
					free := working < total && (r.owner() || others < total-reserved)
					if free && !(p.claiming && looking.Err() != nil) {
						t.Fatalf("a run wants to go on, and %d of %d work, %d of them not owners'", working, total, others)
					}
				}
				if p.claiming && p.claimingOwners && others < total-reserved && looking.Err() == nil {
					t.Fatal("only owners' runs are claimed, though there is a place for others")
				}
			},
		})
	})
}
