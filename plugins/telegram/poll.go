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

// pace holds the receiver's timing.
type pace struct {
	poll    time.Duration // how long the server waits for an update; whole seconds, at most 50
	grace   time.Duration // how much longer the response may take
	least   time.Duration // between two polls without updates, for servers that do not wait
	first   time.Duration // the wait after a failure; it doubles
	longest time.Duration
	album   time.Duration // between polls for the rest of an album
}

func usualPace() pace {
	return pace{
		poll: 50 * time.Second, grace: 15 * time.Second, least: time.Second, first: time.Second,
		longest: time.Minute, album: 300 * time.Millisecond,
	}
}

// wanted are the kinds of updates that the receiver handles.
const wanted = `["message","edited_message","callback_query","my_chat_member","message_reaction","stopped_message_generation"]`

// receiver submits updates to the host. The library's own loop confirms an update before it is processed, so it is not
// used: an update is confirmed when a poll has a higher offset, and the offset advances only after Submit.
type receiver struct {
	api    *api
	in     sdk.Inbox
	log    *slog.Logger
	pace   pace
	status *network.Status

	self    tgbotapi.User
	offset  int // the first update that the host does not have; zero: unknown
	answers sync.WaitGroup
	slots   chan struct{} // one for each concurrent answer
}

// maxAnswers limits how many updates are answered concurrently. With more of them a button keeps spinning for a while, or the line
// stays that says that the bot has pinned a message.
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

// persist retries a step until it succeeds. It gives up when the token is rejected or ctx ends.
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
				return fmt.Errorf("%w: Telegram rejected the token (%d); correct it and reload the config",
					sdk.ErrBadCredentials, failed.Status)
			}
			r.disconnected(failed) // which the host logs
		} else {
			r.log.Warn("receiving failed", "error", err)
		}
		after := tries.After(err)
		r.log.Debug("receiving is tried again", "error", err, "again_in", after.Round(time.Millisecond))
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

// dropWebhook removes a webhook, which would block getUpdates; pending updates are kept. The operator is warned.
func (r *receiver) dropWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := r.api.request(ctx, "deleteWebhook", nil)
	if err == nil && strings.Contains(response.Description, "was deleted") {
		r.log.Warn("another program had set a webhook for this bot; it was removed, and that program no longer gets updates")
	}
	return err
}

func (r *receiver) ask(ctx context.Context, method string, params tgbotapi.Params) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.api.call(ctx, method, params)
}

// receive polls once and submits the updates.
func (r *receiver) receive(ctx context.Context) error {
	began := time.Now()
	timeout := r.pace.poll
	if !r.status.Is(chat.Connected) {
		timeout = 0 // after a failure, to notice soon that it is over
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
		// Nothing is unconfirmed now. Without an offset the bot also sees updates with smaller ids, from which Telegram may
		// restart after a week without updates.
		r.offset = 0
		network.Pause(ctx, r.pace.least-time.Since(began))
	}
	for len(updates) > 0 {
		if updates, err = r.complete(ctx, updates); err != nil {
			return err
		}
		n := together(updates)
		if err := r.submit(ctx, updates[:n]); err != nil {
			return err
		}
		updates = updates[n:]
	}
	return nil
}

// complete waits for the remaining files if the updates end within an album. Nothing of it is confirmed meanwhile.
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

// poll waits up to timeout for updates, in whole seconds, and returns them ordered by id: only then does an offset confirm
// nothing that has not been submitted.
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
	// Confirmed updates must not be submitted again: the rest of an album has another id than its first file, so the host
	// would not recognise it.
	updates = slices.DeleteFunc(updates, func(u received) bool { return u.UpdateID < r.offset })
	slices.SortStableFunc(updates, func(a, b received) int { return cmp.Compare(a.UpdateID, b.UpdateID) })
	return updates, nil
}

// answer calls a method in answer to an update, without waiting. Nothing depends on it.
func (r *receiver) answer(ctx context.Context, method string, params tgbotapi.Params) {
	select {
	case r.slots <- struct{}{}:
		r.answers.Go(func() {
			defer func() { <-r.slots }()
			if _, err := r.ask(ctx, method, params); err != nil && ctx.Err() == nil {
				r.log.Debug("an update was not answered", "method", method, "error", err)
			}
		})
	default:
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
		detail = "another program has set a webhook for this bot; it was removed. Stop that program or create a separate bot for it"
	case failed.Status == http.StatusConflict:
		detail = "another program polls for this bot's updates; stop it or create a separate bot for it"
	}
	r.status.Report(state, detail)
}
