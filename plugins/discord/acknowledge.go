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

// interactionStatus is what Discord has shown the person of an interaction.
type interactionStatus int

const (
	unknown      interactionStatus = iota // Discord could not be asked
	acknowledged                          // accepted
	failed                                // failed
)

// claim is an interaction that is acknowledged while previous events are still being handled.
type claim struct {
	came    int           // the number of the connection on which it arrived
	judged  chan struct{} // closed once the status and err are set
	status  interactionStatus
	err     error
	verdict chan chat.Verdict // the host's; closed without one if the host was not asked
}

func newClaim(came int) *claim {
	return &claim{came: came, judged: make(chan struct{}), verdict: make(chan chat.Verdict, 1)}
}

func (c *claim) settle(what interactionStatus, err error) {
	c.status, c.err = what, err
	close(c.judged)
}

func (c *claim) wait(ctx context.Context) (interactionStatus, error) {
	select {
	case <-c.judged:
		return c.status, c.err
	case <-ctx.Done():
		return unknown, ctx.Err()
	}
}

// claims are the interactions that are not yet handled in order.
type claims struct {
	mu   sync.Mutex
	byID map[string]*claim
}

// maxClaims limits the interactions that are acknowledged ahead of their turn.
const maxClaims = 1000

// add adds a claim; nil if there is one already, or if there are too many.
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

// take removes and returns the claim on an interaction, for its handler.
func (c *claims) take(id string) (*claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byID[id]
	delete(c.byID, id)
	return found, ok
}

// drop removes a claim that was not taken.
func (c *claims) drop(id string, made *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] == made {
		delete(c.byID, id)
	}
}

// comes reports whether an interaction is still to be handled in order: its event arrived on a connection of this session,
// whose first connection has the given number.
func (c *claims) comes(id string, first int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byID[id]
	return found != nil && found.came >= first
}

// orphaned reports whether there are claims of a previous session, whose events will not be handled in order any more.
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

// answerable is how long Discord accepts responses to an acknowledged interaction.
const answerable = 15 * time.Minute

// answer is called when an interaction arrives, before it is handled in order. It returns a function that acknowledges it,
// which runs concurrently and may outlive the connection.
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
		if c.err != nil || c.status == unknown {
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

// judge stores an interaction, acknowledges it and returns what its person sees.
func (r *receiver) judge(ctx context.Context, i interaction) (interactionStatus, error) {
	if i.Token == "" {
		return acknowledged, nil // a previous version stored it, which acknowledged first
	}
	if err := r.keep(ctx, i); err != nil {
		return unknown, err
	}
	what := r.acknowledge(ctx, i)
	if what == unknown && time.Since(i.at()) > answerable {
		what = failed // it can no longer be determined
	}
	return what, nil
}

// Types of responses to interactions, and the flag that shows one to the person only.
const (
	answerNow    = int(discordgo.InteractionResponseChannelMessageWithSource)
	answerNoMore = int(discordgo.InteractionResponseDeferredMessageUpdate)
	onlyToThem   = int(discordgo.MessageFlagsEphemeral)
)

// acknowledge acknowledges an interaction and returns what the person sees, from this or a previous attempt. It retries
// until that is known, for a limited time.
func (r *receiver) acknowledge(ctx context.Context, i interaction) interactionStatus {
	ctx, cancel := context.WithTimeout(ctx, r.pace.acknowledge)
	defer cancel()
	first := map[string]any{"type": answerNoMore}
	if i.Type == discordgo.InteractionApplicationCommand {
		first = map[string]any{"type": answerNow, "data": note("`/" + i.Data.Name + "` is on its way.")}
	}
	callback := "interactions/" + i.ID + "/" + i.Token + "/callback"
	for tries := (network.Backoff{First: r.pace.first / 10, Longest: r.pace.longest}); ; {
		err := r.rest.call(ctx, "POST answer", http.MethodPost, callback, first, nil)
		if found, certain := definite(err, answeredAlready); certain && found {
			return acknowledged
		} else if certain {
			// It is too late. Whether a previous process acknowledged in time is shown by the response, which exists or
			// does not.
			err = r.rest.call(ctx, "GET answer", http.MethodGet, i.hook()+"/messages/@original", nil, nil)
			if found, certain := definite(err, unknownMessage); certain && found {
				return acknowledged
			} else if certain {
				return failed
			}
		}
		if e, _ := errors.AsType[*callError](err); e == nil || !network.Pause(ctx, tries.After(err)) {
			r.log.Debug("could not determine an interaction's state", "id", i.ID, "error", err)
			return unknown
		}
	}
}

// definite reports whether Discord gave a definite answer, and whether it was yes: success, or an error code that means the
// same.
func definite(err error, yes int) (found, certain bool) {
	e, ok := errors.AsType[*callError](err)
	switch {
	case err == nil, ok && e.code == yes:
		return true, true
	default:
		return false, ok && e.code != 0 && !e.MayPass()
	}
}

// hook returns the path for responses after the acknowledgement.
func (i interaction) hook() string { return "webhooks/" + i.AppID + "/" + i.Token }

// note returns a text for the person only.
func note(text string) map[string]any {
	return map[string]any{"content": text, "flags": onlyToThem, "allowed_mentions": mentions{Parse: []string{}}}
}

// followUp tells the person after the acknowledgement that the host has rejected the event.
func (r *receiver) followUp(ctx context.Context, i interaction, v chat.Verdict) {
	if v != chat.Rejected || i.Token == "" {
		return
	}
	if i.Type == discordgo.InteractionApplicationCommand {
		text := note("You may not use commands here.")
		delete(text, "flags")
		r.insist(ctx, "PATCH answer", http.MethodPatch, i.hook()+"/messages/@original", text)
		return
	}
	r.insist(ctx, "POST follow-up", http.MethodPost, i.hook(), note("This button is not for you."))
}

// insist makes a call on which nothing depends, with a few retries.
func (r *receiver) insist(ctx context.Context, what, method, path string, body any) {
	for tries := r.tries(r.pace.first / 10); ; {
		err := r.rest.call(ctx, what, method, path, body, nil)
		if tries.Again(ctx, err) {
			continue
		}
		if err != nil {
			r.log.Debug("could not follow up an interaction", "error", err)
		}
		return
	}
}
