package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	password = "the-password-of-the-village"
	mostText = 100
	mostFile = 1000
	mostMenu = 10
)

type settings struct {
	// Password is no sdk.Secret, of which the sdk takes care.
	Password string `json:"password"`
}

// resident is the channel of a village. It keeps to the contract but for one sin.
type resident struct {
	sin     string
	village *village
	log     *slog.Logger
	media   sdk.Media
	life    int
}

// fickle is a resident whose limits are never the same.
type fickle struct{ *resident }

func (fickle) Limits(chat.Kind) chat.Limits {
	limits := villageLimits()
	limits.Text.Max += rand.IntN(1 << 30)
	return limits
}

func villageLimits() chat.Limits {
	limits := chat.Limits{
		Text: chat.TextLimit{Max: mostText, Unit: chat.Runes}, Markup: chat.Plain,
		TypingTTL: time.Second, Draft: chat.NativeDraft, Buttons: chat.ButtonLimits{Rows: 2, Columns: 3, DataBytes: 20},
		IdempotentSend: true,
	}
	for _, kind := range []chat.MediaKind{chat.File, chat.Image} {
		limits.MediaIn = append(limits.MediaIn, chat.MediaLimit{Kind: kind, MaxBytes: mostFile})
		limits.MediaOut = append(limits.MediaOut, chat.MediaLimit{Kind: kind, MaxBytes: mostFile})
	}
	return limits
}

// resides is the setup of a channel with a sin; empty: with none.
func resides(sin string) Setup {
	v := newVillage()
	open := func(_ context.Context, env sdk.Env, c settings) (*resident, error) {
		if c.Password != password && sin != "takes any config" {
			return nil, sdk.ConfigError("password", errors.New("nobody knows it"))
		}
		life := 0
		v.do(func() {
			v.lives++
			life = v.lives
		})
		r := &resident{sin: sin, village: v, log: env.Log, media: env.Media, life: life}
		if sin == "logs the password" {
			env.Log.Info("moved in", "password", c.Password)
		}
		return r, nil
	}
	s := Setup{
		Component: sdk.NewChannel(villageLimits(), open),
		New: func(t testing.TB) (Network, any) {
			v = newVillage()
			closed := v.closed
			t.Cleanup(func() { close(closed) })
			return v, map[string]any{"password": password}
		},
		Chats:      []chat.ID{"anna", "bob"},
		BadConfigs: []any{map[string]any{"password": "a-wrong-one"}},
		Secrets:    []string{password, "a-wrong-one"},
	}
	if sin == "keeps repeats to itself" {
		limits := villageLimits()
		limits.IdempotentSend = false
		s.Component = sdk.NewChannel(limits, open)
	}
	if sin == "changes its limits" {
		s.Component = sdk.NewChannel(chat.Limits{}, func(ctx context.Context, env sdk.Env, c settings) (fickle, error) {
			r, err := open(ctx, env, c)
			return fickle{r}, err
		})
	}
	return s
}

func (r *resident) Run(ctx context.Context, in sdk.Inbox) error {
	if r.sin == "leaves a goroutine" {
		go func() { <-r.village.closed }()
	}
	if r.sin == "ends slowly" {
		defer func() { <-time.After(2 * endsWithin) }()
	}
	was := chat.State(0)
	for {
		v := r.village
		v.mu.Lock()
		changed, away, revoked := v.changed, v.away, v.revoked
		l := r.next()
		v.mu.Unlock()
		state := chat.Connected
		if away {
			state = chat.Disconnected
		}
		if state != was {
			was = state
			in.Report(state, "")
		}
		switch {
		case revoked && r.sin == "gives up for no reason":
			return errors.New("something is wrong")
		case revoked:
			return fmt.Errorf("%w: evicted", sdk.ErrBadCredentials)
		case l != nil && !away:
			if err := r.take(ctx, in, l); err != nil {
				return err
			}
			continue
		}
		if away && r.sin == "waits for the network alone" {
			<-v.closed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// next is the letter that is due; nil: there is none.
func (r *resident) next() *letter {
	var due []*letter
	for _, l := range r.village.post {
		if !l.acknowledged {
			due = append(due, l)
		}
	}
	switch {
	case len(due) == 0:
		return nil
	case r.sin == "reorders":
		return due[len(due)-1]
	default:
		return due[0]
	}
}

// shelve describes a file that the village keeps.
func (r *resident) shelve(f File) chat.Media {
	token := fmt.Sprintf("%d/%s/%s", r.life, f.Name, f.Content)
	return chat.Media{Kind: chat.File, FileName: f.Name, Token: chat.FileToken(token)}
}

// FetchFile implements sdk.FileFetcher. The token says all that there is to be known.
func (r *resident) FetchFile(_ context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	parts := strings.SplitN(string(token), "/", 3)
	if r.sin == "forgets its tokens" && parts[0] != fmt.Sprint(r.life) {
		return nil, &chat.FileError{Problem: "is forgotten"}
	}
	if r.sin == "cuts files" {
		parts[2] = parts[2][1:]
	}
	return io.NopCloser(strings.NewReader(parts[2])), nil
}

// take hands a letter over.
func (r *resident) take(ctx context.Context, in sdk.Inbox, l *letter) error {
	acknowledge := func() { r.village.do(func() { l.acknowledged = true }) }
	e := l.event
	if l.file != nil && r.sin != "brings no files" {
		m := e.Body.(chat.Message)
		m.Media = []chat.Media{r.shelve(*l.file)}
		e.Body = m
	}
	if l.quoted != nil && r.sin != "brings no quoted files" {
		m := e.Body.(chat.Message)
		quoted := r.shelve(*l.quoted)
		if m.ReplyTo.IsSelf && r.sin == "uploads its own" || !m.ReplyTo.IsSelf && r.sin == "uploads all that is quoted" {
			var err error
			if quoted, err = r.media.Upload(ctx, quoted, bytes.NewReader(l.quoted.Content)); err != nil {
				return err
			}
		}
		quote := *m.ReplyTo
		if quote.Media = []chat.Media{quoted}; r.sin == "takes quoted files for its own" {
			m.Media, quote.Media = quote.Media, nil
		}
		m.ReplyTo = &quote
		e.Body = m
	}
	switch body := e.Body.(type) {
	case chat.Message:
		switch r.sin {
		case "loses texts":
			body.Text = ""
		case "thinks all is for it":
			body.MentionsSelf = true
		case "never thinks it is meant":
			body.MentionsSelf = false
		}
		e.Body = body
	case chat.ButtonPress:
		if r.sin == "cuts what buttons say" {
			body.Data = body.Data[:10]
		}
		e.Body = body
	case chat.Reaction:
		if r.sin == "loses emojis" {
			body.Emoji = ""
		}
		e.Body = body
	case chat.Edited:
		if r.sin == "gives all edits of a message one id" {
			e.ID = chat.EventID("v:edit:" + body.ID)
		}
	case chat.Deleted:
		if r.sin == "tells of another deletion" {
			e.Body = chat.Deleted{ID: "another"}
		}
	}
	switch r.sin {
	case "takes groups for direct chats":
		e.Chat.Kind = chat.Direct
	case "knows no threads":
		e.Thread = ""
	case "mints ids of its own":
		e.ID = chat.EventID(fmt.Sprintf("%s:%d", e.ID, r.life))
	case "takes all for one":
		e.Sender.ID = "somebody"
	case "lives in the past":
		e.At = e.At.AddDate(-3, 0, 0)
	case "acknowledges early":
		acknowledge()
	case "does not end while it submits":
		ctx = context.WithoutCancel(ctx)
	}
	if _, err := in.Submit(ctx, e); err != nil {
		if r.sin == "acknowledges at its end" {
			acknowledge()
		}
		return err
	}
	if r.sin == "never acknowledges" {
		<-ctx.Done()
		return nil
	}
	acknowledge()
	return nil
}
