package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// pace is how often the receiver asks.
type pace struct {
	poll    time.Duration // how long the server waits for an update; whole seconds, at most 50
	grace   time.Duration // how much longer the answer may take
	least   time.Duration // between two polls without updates, for servers that do not wait
	first   time.Duration // the wait after a failure; it doubles
	longest time.Duration
	album   time.Duration // between polls for the rest of an album
}

func usualPace() pace {
	return pace{poll: 50 * time.Second, grace: 15 * time.Second, least: time.Second, first: time.Second, longest: time.Minute, album: 300 * time.Millisecond}
}

// wanted are the kinds of updates that the receiver knows.
const wanted = `["message","edited_message","callback_query","my_chat_member","message_reaction","stopped_message_generation"]`

// receiver takes updates to the host. The library's own loop confirms an update before anybody has it, so this one does
// it: an update counts as confirmed when a poll names a higher offset, and the offset rises only after Submit.
type receiver struct {
	api    *api
	in     sdk.Inbox
	log    *slog.Logger
	pace   pace
	status *network.Status

	self    tgbotapi.User
	offset  int // the first update that the host does not have; zero: whatever there is
	answers sync.WaitGroup
	slots   chan struct{} // one for each answer that is on its way
}

// maxAnswers is how many presses of buttons are answered at the same time. Behind more of them a button spins for a while.
const maxAnswers = 16

// run receives until ctx ends or the token is refused.
func (r *receiver) run(ctx context.Context) error {
	defer r.answers.Wait()
	for _, step := range []func(context.Context) error{r.signIn, r.dropWebhook} {
		if err := r.persist(ctx, step); err != nil {
			return err
		}
	}
	r.connected()
	for {
		if err := r.persist(ctx, r.receive); err != nil {
			return err
		}
	}
}

// persist tries a step until it succeeds. It gives up when the token is refused or ctx ends.
func (r *receiver) persist(ctx context.Context, step func(context.Context) error) error {
	for tries := (network.Backoff{First: r.pace.first, Longest: r.pace.longest}); ; {
		err := step(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		}
		if failed, ok := errors.AsType[*callError](err); ok {
			if failed.badToken() {
				err := fmt.Errorf("%w: Telegram rejected the token (%d); correct it and restart the host", sdk.ErrBadCredentials, failed.Status)
				r.status.Report(chat.Disconnected, err.Error())
				return err
			}
			r.disconnected(failed)
		}
		after := tries.After(err)
		r.log.Warn("receiving failed", "error", err, "again_in", after)
		if !network.Pause(ctx, after) {
			return ctx.Err()
		}
	}
}

func (r *receiver) signIn(ctx context.Context) error {
	raw, err := r.ask(ctx, "getMe", nil)
	if err != nil {
		return err
	}
	return r.api.read("getMe", raw, &r.self)
}

// dropWebhook ends what keeps getUpdates from working; the updates that wait are kept. Whoever set it should know.
func (r *receiver) dropWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := r.api.request(ctx, "deleteWebhook", nil)
	if err == nil && strings.Contains(response.Description, "was deleted") {
		r.log.Warn("another program had set a webhook for this bot; it is removed, and that program gets no updates any more")
	}
	return err
}

func (r *receiver) ask(ctx context.Context, method string, params tgbotapi.Params) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.api.call(ctx, method, params)
}

// receive polls once and hands over what came.
func (r *receiver) receive(ctx context.Context) error {
	began := time.Now()
	timeout := r.pace.poll
	if !r.status.Is(chat.Connected) {
		timeout = 0 // After trouble, to know soon that it is over.
	}
	updates, err := r.poll(ctx, timeout)
	if err != nil {
		if failed, ok := errors.AsType[*callError](err); ok && failed.Status == http.StatusConflict && failed.says("webhook") {
			return errors.Join(err, r.dropWebhook(ctx))
		}
		return err
	}
	r.connected()
	if len(updates) == 0 {
		// Nothing is unconfirmed now. Without an offset the bot also sees updates with smaller ids, at which Telegram may
		// begin again after a week of silence.
		r.offset = 0
		network.Pause(ctx, r.pace.least-time.Since(began))
	}
	for len(updates) > 0 {
		if updates, err = r.complete(ctx, updates); err != nil {
			return err
		}
		n := together(updates)
		if err := r.handOver(ctx, updates[:n]); err != nil {
			return err
		}
		updates = updates[n:]
	}
	return nil
}

// complete adds to updates, if they are an album as far as it has come, what still comes of it. Nothing of it is confirmed
// meanwhile.
func (r *receiver) complete(ctx context.Context, updates []received) ([]received, error) {
	for isAlbum(updates) && len(updates) < maxAlbum {
		if !network.Pause(ctx, r.pace.album) {
			return nil, ctx.Err()
		}
		r.offset = updates[0].UpdateID
		all, err := r.poll(ctx, 0)
		if err != nil {
			return nil, err
		}
		if len(all) <= len(updates) {
			break
		}
		updates = all
	}
	return updates, nil
}

// poll waits so long for updates, in whole seconds, and returns them in the order of the ids: only then does an offset
// confirm nothing that is still to be handed over.
func (r *receiver) poll(ctx context.Context, timeout time.Duration) ([]received, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+r.pace.grace)
	defer cancel()
	params := tgbotapi.Params{"timeout": strconv.Itoa(int(timeout.Seconds())), "allowed_updates": wanted}
	params.AddNonZero("offset", r.offset)
	raw, err := r.api.call(ctx, "getUpdates", params)
	if err != nil {
		return nil, err
	}
	var updates []received
	if err := r.api.read("getUpdates", raw, &updates); err != nil {
		return nil, err
	}
	// What is confirmed must not come again: the host would not know the rest of an album by its first file's id.
	updates = slices.DeleteFunc(updates, func(u received) bool { return u.UpdateID < r.offset })
	slices.SortStableFunc(updates, func(a, b received) int { return cmp.Compare(a.UpdateID, b.UpdateID) })
	return updates, nil
}

// answer ends the spinning of a pressed button, without waiting for it. Nothing depends on it.
func (r *receiver) answer(ctx context.Context, query string) {
	select {
	case r.slots <- struct{}{}:
		r.answers.Go(func() {
			defer func() { <-r.slots }()
			r.stopSpinning(ctx, query)
		})
	default:
	}
}

func (r *receiver) stopSpinning(ctx context.Context, query string) {
	if _, err := r.ask(ctx, "answerCallbackQuery", tgbotapi.Params{"callback_query_id": query}); err != nil && ctx.Err() == nil {
		r.log.Debug("a button press was not answered", "error", err)
	}
}

func (r *receiver) connected() { r.status.Report(chat.Connected, "as @"+r.self.UserName) }

func (r *receiver) disconnected(failed *callError) {
	state, detail := chat.Disconnected, failed.Error()
	if r.self.ID == 0 {
		state = chat.Connecting
	}
	switch {
	case failed.Status == http.StatusConflict && failed.says("webhook"):
		detail = "another program has set a webhook for this bot; it is removed, but stop that program or make a bot of your own for it"
	case failed.Status == http.StatusConflict:
		detail = "another program polls for this bot's updates; stop it or make a bot of your own for it"
	}
	r.status.Report(state, detail)
}
