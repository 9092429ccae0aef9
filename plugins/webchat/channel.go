package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/plugins/webchat/internal/proof"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// There is one person, the host's owner at this machine, and one chat, with a thread for each conversation.
const (
	chatID chat.ID     = "local"
	userID chat.UserID = "local"

	typingTTL  = 10 * time.Second
	draftTTL   = 30 * time.Second // the host renews a draft after 20 seconds
	maxText    = 32_000           // characters of one message of the agent
	stopWithin = 2 * time.Second
	maxEmoji   = 32 // bytes
)

var (
	_ sdk.Channel     = (*channel)(nil)
	_ sdk.Editor      = (*channel)(nil)
	_ sdk.Deleter     = (*channel)(nil)
	_ sdk.Reactor     = (*channel)(nil)
	_ sdk.Typer       = (*channel)(nil)
	_ sdk.Drafter     = (*channel)(nil)
	_ sdk.CommandMenu = (*channel)(nil)
	_ sdk.Stopper     = (*channel)(nil)
)

var limits = chat.Limits{
	Text:           chat.TextLimit{Max: maxText, Unit: chat.Runes},
	Markup:         chat.Markdown,
	Edit:           chat.EditLimits{MinInterval: 100 * time.Millisecond},
	TypingTTL:      typingTTL,
	Draft:          chat.NativeDraft,
	Buttons:        chat.ButtonLimits{Rows: 10, Columns: 4, DataBytes: 256},
	Replies:        true,
	MediaIn:        everyKind(),
	MediaOut:       everyKind(),
	IdempotentSend: true,
}

func everyKind() []chat.MediaLimit {
	var kinds []chat.MediaLimit
	for kind := chat.File; kind <= chat.Sticker; kind++ {
		kinds = append(kinds, chat.MediaLimit{Kind: kind, MaxBytes: maxUpload})
	}
	return kinds
}

// channel is the web chat: a journal of the conversations, and a server for the pages.
type channel struct {
	log      *slog.Logger
	title    string
	demo     bool
	token    string
	listener net.Listener
	changed  *broadcast
	journal  *journal
	live     *live
	menu     *menu
	media    sdk.Media
	render   func(markdown string) string
	release  func() error // unlocks the state folder
}

// Run serves the pages and submits the user's messages to the host, until ctx ends.
func (c *channel) Run(ctx context.Context, in sdk.Inbox) error {
	group, ctx := errgroup.WithContext(ctx)
	a := &api{
		journal:   c.journal,
		live:      c.live,
		menu:      c.menu,
		media:     c.media,
		changed:   c.changed,
		render:    c.render,
		title:     c.title,
		demo:      c.demo,
		log:       c.log,
		submit:    func(e chat.Event) (chat.Verdict, error) { return in.Submit(ctx, e) },
		typing:    in.Typing,
		busy:      make(chan struct{}, maxRequests),
		transfers: make(chan struct{}, maxTransfers),
		streams:   make(chan struct{}, maxStreams),
	}
	authority, alias := names(c.listener.Addr())
	pages := newSessions(proof.NewKey(c.token), authority)
	mux := http.NewServeMux()
	mux.Handle("POST "+proof.SessionPath, limited(pages.busy, pages.begin))
	mux.Handle("/api/", pages.authorized(a.routes()))
	mux.Handle("/", page())
	server := &http.Server{
		Handler:           guard(authority, alias, mux),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	group.Go(func() error {
		if err := server.Serve(c.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the web chat: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if server.Shutdown(stopping) != nil {
			return server.Close()
		}
		return nil
	})
	group.Go(func() error { return c.forward(ctx, in) })
	in.ReportURL(chat.Connected, "listening on "+authority, "http://"+authority+"/#token="+c.token)
	return group.Wait()
}

// forward submits the user's messages to the host one after the other, starting with those of a previous run.
func (c *channel) forward(ctx context.Context, in sdk.Inbox) error {
	for {
		changed := c.changed.next()
		for _, r := range c.journal.waiting() {
			verdict, err := in.Submit(ctx,
				event(string(r.ID), r.Thread, r.At, chat.Message{ID: r.ID, Text: r.Text, Media: mediaOf(r.Files)}))
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("submit message: %w", err)
			}
			reached := accepted
			if verdict == chat.Rejected {
				reached = rejected
			}
			err = c.journal.update(r.ID, func(r *record) error {
				r.State = reached
				return nil
			})
			if err != nil && !errors.Is(err, errNoMessage) { // its conversation may have been deleted meanwhile
				return fmt.Errorf("record that the host has a message: %w", err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// event returns an event of the user in a conversation, with the id from the page.
func event(id string, thread chat.ThreadID, at time.Time, body chat.Body) chat.Event {
	return chat.Event{
		ID:       chat.EventID("wc:" + id),
		Chat:     chat.Chat{ID: chatID, Kind: chat.Direct},
		Thread:   thread,
		Isolated: thread != "",
		Sender:   chat.Sender{ID: userID, DisplayName: "You"},
		At:       at,
		Body:     body,
	}
}

// Send adds a message of the agent. A repeated key returns the existing message. If the user has deleted the conversation
// meanwhile, it is created again, so that no message is lost.
func (c *channel) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if out.To.Chat != chatID || out.To.Thread != "" && !idPattern.MatchString(string(out.To.Thread)) {
		return chat.Receipt{}, noChat(out.To)
	}
	if slices.ContainsFunc(out.Media, func(m chat.Media) bool { return m.Ref == "" || m.Size > maxUpload }) {
		return chat.Receipt{},
			&chat.Failure{Reason: chat.MediaRejected, Err: errors.New("a file is empty, or larger than the web chat allows")}
	}
	r, _, err := c.journal.answer(record{
		Key: out.Key, Thread: out.To.Thread, Text: out.Text, Files: filesOf(out.Media), ReplyTo: out.ReplyTo, Buttons: out.Buttons,
		Silent: out.Silent, Agent: out.Agent, At: time.Now().UTC(),
	})
	if errors.Is(err, errManyConversations) {
		return chat.Receipt{}, &chat.Failure{Reason: chat.ChatNotFound, Err: err}
	}
	if err != nil {
		// The key makes a retry safe.
		return chat.Receipt{}, &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	}
	c.live.end(out.To.Thread)
	return chat.Receipt{IDs: []chat.MessageID{r.ID}}, nil
}

// Edit edits a message of the agent.
func (c *channel) Edit(_ context.Context, to chat.Address, id chat.MessageID, text string, rows [][]chat.Button) error {
	return c.change(to, id, func(r *record) error {
		if r.From != agent {
			return errNoMessage
		}
		if r.Text != text {
			r.Text, r.Edited = text, true
		}
		r.Buttons = rows
		return nil
	})
}

// Delete empties a message of the agent.
func (c *channel) Delete(_ context.Context, to chat.Address, id chat.MessageID) error {
	return c.change(to, id, func(r *record) error {
		if r.From != agent {
			return errNoMessage
		}
		r.Text, r.Files, r.Buttons, r.Reaction, r.Deleted = "", nil, nil, "", true
		return nil
	})
}

// React adds the agent's reaction to a message, or removes it.
func (c *channel) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	if len(emoji) > maxEmoji {
		return &chat.Failure{Reason: chat.Invalid, Err: errors.New("that is not an emoji")}
	}
	return c.change(to, id, func(r *record) error {
		r.Reaction = emoji
		return nil
	})
}

// change changes a message of the conversation.
func (c *channel) change(to chat.Address, id chat.MessageID, change func(*record) error) error {
	if err := c.checkAddress(to); err != nil {
		return err
	}
	err := c.journal.update(id, func(r *record) error {
		if r.Deleted || r.Thread != to.Thread {
			return errNoMessage
		}
		return change(r)
	})
	if errors.Is(err, errNoMessage) {
		return &chat.Failure{Reason: chat.TargetGone}
	}
	if err != nil {
		return &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	}
	return nil
}

// Typing shows on the pages whether the agent is writing.
func (c *channel) Typing(_ context.Context, to chat.Address, active bool) error {
	if err := c.checkAddress(to); err != nil {
		return err
	}
	if active {
		c.live.write(to.Thread, time.Now().Add(typingTTL))
	} else {
		c.live.end(to.Thread)
	}
	return nil
}

// Draft shows on the pages what the agent has written so far.
func (c *channel) Draft(_ context.Context, to chat.Address, _ int64, text string) error {
	if err := c.checkAddress(to); err != nil {
		return err
	}
	c.live.draft(to.Thread, text, time.Now().Add(draftTTL))
	return nil
}

// SetCommands sets the commands that the pages complete.
func (c *channel) SetCommands(_ context.Context, commands []chat.CommandSpec) error {
	c.menu.set(commands)
	return nil
}

// Stop closes the channel's resources.
func (c *channel) Stop(context.Context) error {
	c.listener.Close() // Run has closed it, if it ran
	return errors.Join(c.journal.close(), c.release())
}

// checkAddress returns an error if there is no such conversation.
func (c *channel) checkAddress(to chat.Address) error {
	if to.Chat != chatID || !c.journal.hasConversation(to.Thread) {
		return noChat(to)
	}
	return nil
}

func noChat(to chat.Address) error {
	return &chat.Failure{Reason: chat.ChatNotFound, Err: fmt.Errorf("the web chat has one chat, %q, and no thread %q", chatID, to.Thread)}
}
