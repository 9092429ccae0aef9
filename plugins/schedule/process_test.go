package main

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// memory is what a host keeps while processes of the plugin come and go.
type memory struct {
	state   map[string][]byte
	version map[string]uint64
	posts   map[string]sdk.Post
	turns   map[string]sdk.Turn
	wakeUps map[string]time.Time
	// answer is how a turn ends.
	answer func(sdk.Turn) error
	// closed is a channel that the plugin may not write to.
	closed string
}

func newMemory() *memory {
	return &memory{
		state: map[string][]byte{}, version: map[string]uint64{}, posts: map[string]sdk.Post{}, turns: map[string]sdk.Turn{},
		wakeUps: map[string]time.Time{}, answer: func(sdk.Turn) error { return nil },
	}
}

// process is a process of the plugin as its host sees it: one that can end in any call.
type process struct {
	*memory

	left int  // calls until something happens; never if it is not positive
	late bool // in that call: it takes effect, and the answer is lost
	ends bool // and the process ends; otherwise only that call fails
	end  context.CancelFunc
	dead bool
}

var errLost = errors.New("the connection is lost")

// call makes a call that has an effect on the host.
func (p *process) call(effect func() error) error {
	if p.dead {
		return errLost
	}
	if p.left--; p.left != 0 {
		return effect()
	}
	if p.late {
		_ = effect()
	}
	if p.ends {
		p.dead = true
		p.end()
	}
	return errLost
}

// start opens the plugin in a process.
func (p *process) start(ctx context.Context, c config, now func() time.Time) (*schedules, context.Context, error) {
	ctx, p.end = context.WithCancel(ctx)
	env := sdk.Env{
		Log: slog.New(slog.DiscardHandler), Instance: "schedule",
		State: state{p}, Outbox: outbox{p}, Turns: turns{p}, WakeUps: wakeUps{p}, History: history{p},
	}
	s, err := open(ctx, env, c, now)
	return s, ctx, err
}

type state struct{ *process }

func (s state) Get(_ context.Context, key string) (value []byte, revision uint64, err error) {
	err = s.call(func() error {
		if s.state[key] == nil {
			return sdk.ErrNotFound
		}
		value, revision = bytes.Clone(s.state[key]), s.version[key]
		return nil
	})
	return value, revision, err
}

func (s state) Put(context.Context, string, []byte) (uint64, error) {
	return 0, errors.New("a write that is not conditional")
}

func (s state) PutIf(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	err := s.call(func() error {
		if revision != s.version[key] {
			return sdk.ErrConflict
		}
		s.state[key] = bytes.Clone(value)
		s.version[key]++
		return nil
	})
	return s.version[key], err
}

func (s state) Delete(_ context.Context, key string) error {
	return s.call(func() error {
		delete(s.state, key)
		delete(s.version, key)
		return nil
	})
}

func (s state) List(_ context.Context, prefix, after string) (keys []string, err error) {
	err = s.call(func() error {
		for _, key := range slices.Sorted(maps.Keys(s.state)) {
			if strings.HasPrefix(key, prefix) && key > after {
				keys = append(keys, key)
			}
		}
		return nil
	})
	return keys, err
}

type outbox struct{ *process }

func (o outbox) Post(ctx context.Context, key string, to chat.Address, text string) error {
	return o.PostMessage(ctx, key, to, sdk.Post{Text: text})
}

func (o outbox) PostMessage(_ context.Context, key string, to chat.Address, p sdk.Post) error {
	return o.call(func() error {
		if to.Channel == o.closed {
			return sdk.ErrNotGranted
		}
		if _, known := o.posts[key]; !known {
			o.posts[key] = p
		}
		return nil
	})
}

type turns struct{ *process }

func (t turns) Begin(_ context.Context, turn sdk.Turn) error {
	return t.call(func() error {
		if turn.To.Channel == t.closed {
			return sdk.ErrNotGranted
		}
		t.turns[turn.Key] = turn
		return nil
	})
}

func (t turns) Run(ctx context.Context, turn sdk.Turn) (string, error) {
	if err := t.Begin(ctx, turn); err != nil {
		return "", err
	}
	return "done", t.answer(turn)
}

func (t turns) Follow(context.Context, sdk.Turn) iter.Seq2[sdk.TurnProgress, error] { return nil }

type wakeUps struct{ *process }

func (w wakeUps) WakeAt(_ context.Context, key string, at time.Time) error {
	return w.call(func() error {
		w.wakeUps[key] = at
		return nil
	})
}

func (w wakeUps) Cancel(_ context.Context, key string) error {
	return w.call(func() error {
		delete(w.wakeUps, key)
		return nil
	})
}

type history struct{ *process }

func (h history) Read(_ context.Context, to chat.Address, _ chat.Kind, _ int, _ int64) ([]chat.TranscriptEntry, error) {
	return nil, h.call(func() error {
		if to.Channel == h.closed {
			return sdk.ErrNotGranted
		}
		return nil
	})
}
