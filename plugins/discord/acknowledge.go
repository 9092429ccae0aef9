package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// fate is what Discord has told the person of an interaction.
type fate int

const (
	unknown      fate = iota // Discord could not be asked
	acknowledged             // that it works
	failed                   // that it does not
)

// claim is an interaction that is acknowledged while what came before it is still handled.
type claim struct {
	came    int           // the number of the connection on which it came
	judged  chan struct{} // closed once fate and err are there
	fate    fate
	err     error
	verdict chan chat.Verdict // the host's; closed without one if the host was not asked
}

func newClaim(came int) *claim {
	return &claim{came: came, judged: make(chan struct{}), verdict: make(chan chat.Verdict, 1)}
}

func (c *claim) settle(what fate, err error) {
	c.fate, c.err = what, err
	close(c.judged)
}

func (c *claim) wait(ctx context.Context) (fate, error) {
	select {
	case <-c.judged:
		return c.fate, c.err
	case <-ctx.Done():
		return unknown, ctx.Err()
	}
}

// claims are the interactions whose turn has not come yet.
type claims struct {
	mu   sync.Mutex
	byID map[string]*claim
}

// maxClaims is how many interactions are acknowledged before their turn.
const maxClaims = 1000

// add makes a claim; nil: there is one already, or there are too many.
func (c *claims) add(id string, came int) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] != nil || len(c.byID) >= maxClaims {
		return nil
	}
	made := newClaim(came)
	c.byID[id] = made
	return made
}

// take hands a claim to whoever handles the interaction.
func (c *claims) take(id string) (*claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byID[id]
	delete(c.byID, id)
	return found, ok
}

// drop ends a claim that nobody has taken.
func (c *claims) drop(id string, made *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] == made {
		delete(c.byID, id)
	}
}

// comes reports whether the turn of an interaction is to come: its event has come on a connection of this session, the first
// of which has a number.
func (c *claims) comes(id string, first int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byID[id]
	return found != nil && found.came >= first
}

// orphaned reports whether there are any of a session before, whose turns do not come any more.
func (c *claims) orphaned(first int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, found := range c.byID {
		if found.came < first {
			return true
		}
	}
	return false
}

// answerable is for how long Discord knows an interaction that was acknowledged.
const answerable = 15 * time.Minute

// answer is called when an interaction comes on a connection, before its turn, and returns what acknowledges it, which runs beside everything
// else, and longer than the connection.
func (r *receiver) answer(e *discordgo.Event, connection int) func(context.Context) {
	var i interaction
	if decode(e, &i) != nil || i.says() == nil {
		return func(context.Context) {}
	}
	c := r.claims.add(i.ID, connection)
	if c == nil {
		return func(context.Context) {}
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, answerable)
		defer cancel()
		defer r.claims.drop(i.ID, c)
		c.settle(r.judge(ctx, i))
		if c.err != nil || c.fate == unknown {
			return
		}
		select {
		case v, decided := <-c.verdict:
			if decided {
				r.followUp(ctx, i, v)
			}
		case <-ctx.Done():
		}
	}
}

// judge keeps an interaction, acknowledges it and reports what its person sees of that.
func (r *receiver) judge(ctx context.Context, i interaction) (fate, error) {
	if i.Token == "" {
		return acknowledged, nil // An earlier version kept it, which did so after that.
	}
	if err := r.keep(ctx, i); err != nil {
		return unknown, err
	}
	what := r.acknowledge(ctx, i)
	if what == unknown && time.Since(i.at()) > answerable {
		what = failed // Nobody can find out any more.
	}
	return what, nil
}

// Types of answers to interactions, and the flag that shows one to the person alone.
const (
	answerNow    = int(discordgo.InteractionResponseChannelMessageWithSource)
	answerNoMore = int(discordgo.InteractionResponseDeferredMessageUpdate)
	onlyToThem   = int(discordgo.MessageFlagsEphemeral)
)

// acknowledge tells the person that an interaction works, and reports whether they are told so, now or before. It asks until
// that is certain, but not for ever.
func (r *receiver) acknowledge(ctx context.Context, i interaction) fate {
	ctx, cancel := context.WithTimeout(ctx, r.pace.acknowledge)
	defer cancel()
	first := map[string]any{"type": answerNoMore}
	if i.Type == discordgo.InteractionApplicationCommand {
		first = map[string]any{"type": answerNow, "data": note("`/" + i.Data.Name + "` is on its way.")}
	}
	callback := "interactions/" + i.ID + "/" + i.Token + "/callback"
	for tries := (network.Backoff{First: r.pace.first / 10, Longest: r.pace.longest}); ; {
		err := r.rest.call(ctx, "POST answer", http.MethodPost, callback, first, nil)
		if found, certain := told(err, answeredAlready); certain && found {
			return acknowledged
		} else if certain {
			// It is too late. Whether another life was in time, the answer itself tells, which is there or is not.
			err = r.rest.call(ctx, "GET answer", http.MethodGet, i.hook()+"/messages/@original", nil, nil)
			if found, certain := told(err, unknownMessage); certain && found {
				return acknowledged
			} else if certain {
				return failed
			}
		}
		if e, _ := errors.AsType[*callError](err); e == nil || !network.Pause(ctx, tries.After(err)) {
			r.log.Debug("Discord cannot be asked about an interaction", "id", i.ID, "error", err)
			return unknown
		}
	}
}

// told reports whether Discord has answered for certain, and with a yes: by doing what it was asked, or by the code of an
// error that says as much.
func told(err error, yes int) (found, certain bool) {
	e, ok := errors.AsType[*callError](err)
	switch {
	case err == nil, ok && e.code == yes:
		return true, true
	default:
		return false, ok && e.code != 0 && !e.MayPass()
	}
}

// hook is where what follows an acknowledgement goes.
func (i interaction) hook() string { return "webhooks/" + i.AppID + "/" + i.Token }

// note is a text for the person alone.
func note(text string) map[string]any {
	return map[string]any{"content": text, "flags": onlyToThem, "allowed_mentions": mentions{Parse: []string{}}}
}

// followUp says behind the acknowledgement that the host has refused.
func (r *receiver) followUp(ctx context.Context, i interaction, v chat.Verdict) {
	if v != chat.Rejected || i.Token == "" {
		return
	}
	if i.Type == discordgo.InteractionApplicationCommand {
		text := note("Commands are not taken here from you.")
		delete(text, "flags")
		r.insist(ctx, "PATCH answer", http.MethodPatch, i.hook()+"/messages/@original", text)
		return
	}
	r.insist(ctx, "POST follow-up", http.MethodPost, i.hook(), note("This button is not for you."))
}

// insist makes a call on which nothing depends, a few times if that may help.
func (r *receiver) insist(ctx context.Context, what, method, path string, body any) {
	for tries := r.tries(r.pace.first / 10); ; {
		err := r.rest.call(ctx, what, method, path, body, nil)
		if tries.Again(ctx, err) {
			continue
		}
		if err != nil {
			r.log.Debug("an interaction was not followed up", "error", err)
		}
		return
	}
}
