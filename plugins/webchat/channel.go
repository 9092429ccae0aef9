package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// There is one conversation: the host's owner at this machine.
const (
	chatID     chat.ID     = "local"
	userID     chat.UserID = "local"
	typingTTL              = 10 * time.Second
	maxText                = 16000 // runes of one message of the agent
	stopWithin             = 2 * time.Second
)

var (
	_ sdk.Channel = (*channel)(nil)
	_ sdk.Editor  = (*channel)(nil)
	_ sdk.Deleter = (*channel)(nil)
	_ sdk.Typer   = (*channel)(nil)
	_ sdk.Stopper = (*channel)(nil)
)

var limits = chat.Limits{
	Text:           chat.TextLimit{Max: maxText, Unit: chat.Runes},
	Markup:         chat.Markdown,
	Edit:           chat.EditLimits{MinInterval: 200 * time.Millisecond},
	TypingTTL:      typingTTL,
	Draft:          chat.DraftByEdit,
	Buttons:        chat.ButtonLimits{Rows: 10, Columns: 4, DataBytes: 256},
	IdempotentSend: true,
}

// channel is the web chat: a journal of the conversation, and a server that shows it to the pages.
type channel struct {
	log      hclog.Logger
	title    string
	token    string
	listener net.Listener
	changed  *broadcast
	journal  *journal
	typing   *typing
	release  func() error // lets go of the state folder
}

// Run serves the pages and hands what the user says to the host, until ctx ends.
func (c *channel) Run(ctx context.Context, in sdk.Inbox) error {
	group, ctx := errgroup.WithContext(ctx)
	a := &api{
		journal:  c.journal,
		typing:   c.typing,
		changed:  c.changed,
		markdown: newMarkdown(),
		title:    c.title,
		log:      c.log,
		submit:   func(e chat.Event) (chat.Verdict, error) { return in.Submit(ctx, e) },
		busy:     make(chan struct{}, maxRequests),
		streams:  make(chan struct{}, maxStreams),
	}
	hosts := origins(c.listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/api/", authorized(c.token, a.routes()))
	mux.Handle("/", page())
	server := &http.Server{
		Handler:           guard(hosts, mux),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          c.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
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
	in.ReportURL(chat.Connected, "listening on "+hosts[0], "http://"+hosts[0]+"/#token="+c.token)
	return group.Wait()
}

// forward hands the user's messages to the host one after the other, those left over from an earlier run first.
func (c *channel) forward(ctx context.Context, in sdk.Inbox) error {
	for {
		changed := c.changed.next()
		for _, r := range c.journal.waiting() {
			verdict, err := in.Submit(ctx, event(string(r.ID), r.At, chat.Message{ID: r.ID, Text: r.Text}))
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
			if _, err := c.journal.update(r.ID, func(r *record) { r.State = reached }); err != nil {
				return fmt.Errorf("note that the host has a message: %w", err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// event is something that the user did, under the id that the page gave it.
func event(id string, at time.Time, body chat.Body) chat.Event {
	return chat.Event{
		ID:     chat.EventID("wc:" + id),
		Chat:   chat.Chat{ID: chatID, Kind: chat.Direct},
		Sender: chat.Sender{ID: userID, DisplayName: "You"},
		At:     at,
		Body:   body,
	}
}

// Send adds a message of the agent. The same key again returns the message that is there.
func (c *channel) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	if err := checkAddress(out.To); err != nil {
		return chat.Receipt{}, err
	}
	if len(out.Media) > 0 {
		return chat.Receipt{}, &chat.Failure{Reason: chat.MediaRejected, Err: errors.New("the web chat shows no files")}
	}
	c.typing.set(time.Time{})
	r, _, err := c.journal.answer(record{Key: out.Key, Text: out.Text, Buttons: out.Buttons, At: time.Now().UTC()})
	if err != nil {
		// The key makes it safe to send again.
		return chat.Receipt{}, &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	}
	return chat.Receipt{IDs: []chat.MessageID{r.ID}}, nil
}

// Edit changes a message of the agent.
func (c *channel) Edit(_ context.Context, to chat.Address, id chat.MessageID, text string, rows [][]chat.Button) error {
	return c.change(to, id, func(r *record) {
		if r.Text != text {
			r.Text, r.Edited = text, true
		}
		r.Buttons = rows
	})
}

// Delete empties a message of the agent.
func (c *channel) Delete(_ context.Context, to chat.Address, id chat.MessageID) error {
	return c.change(to, id, func(r *record) { r.Text, r.Buttons, r.Deleted = "", nil, true })
}

func (c *channel) change(to chat.Address, id chat.MessageID, change func(*record)) error {
	if err := checkAddress(to); err != nil {
		return err
	}
	if r, ok := c.journal.get(id); !ok || r.From != agent || r.Deleted {
		return &chat.Failure{Reason: chat.TargetGone}
	}
	_, err := c.journal.update(id, change)
	if errors.Is(err, errNoMessage) {
		return &chat.Failure{Reason: chat.TargetGone}
	}
	if err != nil {
		return &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	}
	return nil
}

// Typing shows on the pages that the agent is writing, or that it is no longer.
func (c *channel) Typing(_ context.Context, to chat.Address, active bool) error {
	if err := checkAddress(to); err != nil {
		return err
	}
	var until time.Time
	if active {
		until = time.Now().Add(typingTTL)
	}
	c.typing.set(until)
	return nil
}

// Stop closes what the channel holds open.
func (c *channel) Stop(context.Context) error {
	c.listener.Close() // Run has closed it, if it ran
	return errors.Join(c.journal.close(), c.release())
}

func checkAddress(to chat.Address) error {
	if to.Chat != chatID || to.Thread != "" {
		return &chat.Failure{Reason: chat.ChatNotFound, Err: fmt.Errorf("the web chat has one chat, %q", chatID)}
	}
	return nil
}
