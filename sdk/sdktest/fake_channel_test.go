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
	password = "the-password"
	mostText = 100
	mostFile = 1000
	mostMenu = 10
)

type settings struct {
	// Password is not an sdk.Secret, which the sdk would redact.
	Password string `json:"password"`
}

// fakeChannel is the channel of a fakeNetwork. It follows the contract except for one defect.
type fakeChannel struct {
	defect      string
	fakeNetwork *fakeNetwork
	log         *slog.Logger
	media       sdk.Media
	life        int
}

// fickle is a fakeChannel whose limits change with every call.
type fickle struct{ *fakeChannel }

func (fickle) Limits(chat.Kind) chat.Limits {
	limits := networkLimits()
	limits.Text.Max += rand.IntN(1 << 30)
	return limits
}

func networkLimits() chat.Limits {
	limits := chat.Limits{
		Text: chat.TextLimit{Max: mostText, Unit: chat.Runes}, Markup: chat.Plain,
		TypingTTL: time.Second, Draft: chat.NativeDraft, Buttons: chat.ButtonLimits{Rows: 2, Columns: 3, DataBytes: 20},
		IdempotentSend: true,
		Polls:          chat.PollLimits{Options: 3, Question: chat.TextLimit{Max: 20, Unit: chat.Runes}, Anonymous: true},
	}
	for _, kind := range []chat.MediaKind{chat.File, chat.Image} {
		limits.MediaIn = append(limits.MediaIn, chat.MediaLimit{Kind: kind, MaxBytes: mostFile})
		limits.MediaOut = append(limits.MediaOut, chat.MediaLimit{Kind: kind, MaxBytes: mostFile})
	}
	return limits
}

// setupWith is the setup of a channel with a defect; empty: none.
func setupWith(defect string) Setup {
	v := newVillage()
	open := func(_ context.Context, env sdk.Env, c settings) (*fakeChannel, error) {
		if c.Password != password && defect != "takes any config" {
			return nil, sdk.ConfigError("password", errors.New("nobody knows it"))
		}
		life := 0
		v.do(func() {
			v.lives++
			life = v.lives
		})
		r := &fakeChannel{defect: defect, fakeNetwork: v, log: env.Log, media: env.Media, life: life}
		if defect == "logs the password" {
			env.Log.Info("moved in", "password", c.Password)
		}
		return r, nil
	}
	s := Setup{
		Component: sdk.NewChannel(networkLimits(), open),
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
	if defect == "keeps repeats to itself" {
		limits := networkLimits()
		limits.IdempotentSend = false
		s.Component = sdk.NewChannel(limits, open)
	}
	if defect == "has no limit of texts" {
		limits := networkLimits()
		limits.Text = chat.TextLimit{}
		s.Component = sdk.NewChannel(limits, open)
	}
	if defect == "changes its limits" {
		s.Component = sdk.NewChannel(chat.Limits{}, func(ctx context.Context, env sdk.Env, c settings) (fickle, error) {
			r, err := open(ctx, env, c)
			return fickle{r}, err
		})
	}
	return s
}

func (r *fakeChannel) Run(ctx context.Context, in sdk.Inbox) error {
	if r.defect == "leaves a goroutine" {
		go func() { <-r.fakeNetwork.closed }()
	}
	if r.defect == "ends slowly" {
		defer func() { <-time.After(2 * endsWithin) }()
	}
	was := chat.State(0)
	for {
		v := r.fakeNetwork
		v.mu.Lock()
		changed, away, revoked := v.changed, v.away, v.revoked
		l := r.next()
		typists := v.typists
		v.typists = nil
		v.mu.Unlock()
		for _, id := range typists {
			r.tell(in, id)
		}
		state := chat.Connected
		if away {
			state = chat.Disconnected
		}
		if state != was {
			was = state
			in.Report(state, "")
		}
		switch {
		case revoked && r.defect == "gives up for no reason":
			return errors.New("something is wrong")
		case revoked:
			return fmt.Errorf("%w: evicted", sdk.ErrBadCredentials)
		case l != nil && !away:
			if err := r.take(ctx, in, l); err != nil {
				return err
			}
			continue
		}
		if away && r.defect == "waits for the network alone" {
			<-v.closed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// tell tells the host of a person who types.
func (r *fakeChannel) tell(in sdk.Inbox, id chat.ID) {
	hint := chat.Typing{Chat: chat.Chat{ID: id, Kind: chat.Direct}, Sender: chat.Sender{ID: chat.UserID(neighbour + id)}}
	switch r.defect {
	case "keeps to itself who types":
		return
	case "takes the chat for the person":
		hint.Sender.ID = chat.UserID(id)
	}
	in.Typing(hint)
}

// next is the delivery that is due; nil: none.
func (r *fakeChannel) next() *delivery {
	var due []*delivery
	for _, l := range r.fakeNetwork.post {
		if !l.acknowledged {
			due = append(due, l)
		}
	}
	switch {
	case len(due) == 0:
		return nil
	case r.defect == "reorders":
		return due[len(due)-1]
	default:
		return due[0]
	}
}

// shelve describes a file on the network.
func (r *fakeChannel) shelve(f File) chat.Media {
	token := fmt.Sprintf("%d/%s/%s", r.life, f.Name, f.Content)
	return chat.Media{Kind: chat.File, FileName: f.Name, Token: chat.FileToken(token)}
}

// FetchFile implements sdk.FileFetcher. The token contains everything needed.
func (r *fakeChannel) FetchFile(_ context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	parts := strings.SplitN(string(token), "/", 3)
	if r.defect == "forgets its tokens" && parts[0] != fmt.Sprint(r.life) {
		return nil, &chat.FileError{Problem: "is forgotten"}
	}
	if r.defect == "cuts files" {
		parts[2] = parts[2][1:]
	}
	return io.NopCloser(strings.NewReader(parts[2])), nil
}

// History implements sdk.Historian.
func (r *fakeChannel) History(_ context.Context, of chat.Address, before chat.MessageID, limit int) ([]chat.Event, error) {
	var said []chat.Event
	r.fakeNetwork.do(func() {
		for _, l := range r.fakeNetwork.post {
			if m, ok := l.event.Body.(chat.Message); ok && m.ID == before {
				break
			} else if ok && l.event.Chat.ID == of.Chat {
				said = append(said, l.event)
			}
		}
	})
	switch r.defect {
	case "remembers the first words":
		return said[:limit], nil
	case "takes all for one":
		for i := range said {
			said[i].Sender.DisplayName = "somebody"
		}
	}
	return said[max(0, len(said)-limit):], nil
}

// Members implements sdk.MemberLister.
func (r *fakeChannel) Members(_ context.Context, of chat.Address, limit int) (chat.Members, error) {
	if of.Chat != square && r.defect != "knows everybody" {
		return chat.Members{}, &chat.Failure{Reason: chat.ChatNotFound}
	}
	list := []chat.Member{{Sender: chat.Sender{ID: "anna"}, IsAdmin: true}, {Sender: chat.Sender{ID: "bob"}}}
	if r.defect == "lists administrators only" {
		list = list[:1]
	}
	if r.defect != "lists all at once" {
		list = list[:min(len(list), limit)]
	}
	return chat.Members{List: list, Total: 2}, nil
}

// take submits a delivery.
func (r *fakeChannel) take(ctx context.Context, in sdk.Inbox, l *delivery) error {
	acknowledge := func() { r.fakeNetwork.do(func() { l.acknowledged = true }) }
	e := l.event
	if l.file != nil && r.defect != "brings no files" {
		m := e.Body.(chat.Message)
		m.Media = []chat.Media{r.shelve(*l.file)}
		e.Body = m
	}
	if l.quoted != nil && r.defect != "brings no quoted files" {
		m := e.Body.(chat.Message)
		quoted := r.shelve(*l.quoted)
		if m.ReplyTo.IsSelf && r.defect == "uploads its own" || !m.ReplyTo.IsSelf && r.defect == "uploads all that is quoted" {
			var err error
			if quoted, err = r.media.Upload(ctx, quoted, bytes.NewReader(l.quoted.Content)); err != nil {
				return err
			}
		}
		quote := *m.ReplyTo
		if quote.Media = []chat.Media{quoted}; r.defect == "takes quoted files for its own" {
			m.Media, quote.Media = quote.Media, nil
		}
		m.ReplyTo = &quote
		e.Body = m
	}
	switch body := e.Body.(type) {
	case chat.Message:
		switch r.defect {
		case "loses texts":
			body.Text = ""
		case "thinks all is for it":
			body.MentionsSelf = true
		case "never thinks it is meant":
			body.MentionsSelf = false
		}
		e.Body = body
	case chat.ButtonPress:
		if r.defect == "cuts what buttons say" {
			body.Data = body.Data[:10]
		}
		e.Body = body
	case chat.Reaction:
		if r.defect == "loses emojis" {
			body.Emoji = ""
		}
		e.Body = body
	case chat.Edited:
		if r.defect == "gives all edits of a message one id" {
			e.ID = chat.EventID("v:edit:" + body.ID)
		}
	case chat.Deleted:
		if r.defect == "tells of another deletion" {
			e.Body = chat.Deleted{ID: "another"}
		}
	}
	switch r.defect {
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
		if r.defect == "acknowledges at its end" {
			acknowledge()
		}
		return err
	}
	if r.defect == "never acknowledges" {
		<-ctx.Done()
		return nil
	}
	acknowledge()
	return nil
}
