package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

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
	log     hclog.Logger
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
		Text: chat.TextLimit{Max: mostText, Unit: chat.Runes}, Caption: chat.TextLimit{Max: 50, Unit: chat.Runes}, Markup: chat.Plain,
		TypingTTL: time.Second, Draft: chat.NativeDraft, Buttons: chat.ButtonLimits{Rows: 2, Columns: 3, DataBytes: 20},
		Threads: true, IdempotentSend: true,
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

// take hands a letter over.
func (r *resident) take(ctx context.Context, in sdk.Inbox, l *letter) error {
	acknowledge := func() { r.village.do(func() { l.acknowledged = true }) }
	e := l.event
	if l.file != nil && r.sin != "brings no files" {
		stored, err := r.media.Upload(ctx, chat.Media{Kind: chat.File, FileName: l.file.Name}, bytes.NewReader(l.file.Content))
		if err != nil {
			return err
		}
		m := e.Body.(chat.Message)
		m.Media = []chat.Media{stored}
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

func (r *resident) Send(ctx context.Context, out chat.Outgoing) (receipt chat.Receipt, err error) {
	files, err := r.fetch(ctx, out.Media)
	if err != nil {
		return receipt, err
	}
	v := r.village
	if r.sin != "knows nobody by their id" {
		out.To.Chat = chat.ID(strings.TrimPrefix(string(out.To.Chat), neighbour))
	}
	v.do(func() {
		if err = r.refusal(out); err != nil {
			return
		}
		s := &shown{Outgoing: out, id: chat.MessageID(fmt.Sprintf("m%d", len(v.shown))), files: files}
		same := slices.IndexFunc(v.shown, func(old *shown) bool { return old.Key == out.Key })
		switch {
		case same >= 0 && r.sin == "sends the same key again", same >= 0 && r.sin == "forgets keys with its life" && v.shown[same].life != r.life:
			v.shown = append(v.shown, s)
		case same >= 0:
			s = v.shown[same]
		default:
			v.shown = append(v.shown, s)
		}
		s.life = r.life
		receipt.IDs = []chat.MessageID{s.id}
		switch r.sin {
		case "sends nothing":
			s.gone = true
		case "cuts texts":
			s.Text = out.Text[:min(len(out.Text), mostText/2)]
		case "loses captions":
			if len(files) > 0 {
				s.Text = ""
			}
		case "answers beside the thread":
			s.To.Thread = ""
		}
		if r.sin != "leaves drafts" {
			delete(v.drafts, out.To.Chat)
		}
	})
	return receipt, err
}

// fetch gets the contents of files.
func (r *resident) fetch(ctx context.Context, files []chat.Media) (contents []string, err error) {
	for _, m := range files {
		if m.Size > mostFile && r.sin != "takes files of any size" {
			return nil, &chat.Failure{Reason: chat.MediaRejected}
		}
		_, content, err := r.media.Download(ctx, m.Ref)
		if err != nil {
			return nil, &chat.Failure{Reason: chat.Temporary, Err: err}
		}
		read, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil {
			return nil, err
		}
		contents = append(contents, string(read))
	}
	if r.sin == "loses files" {
		return nil, nil
	}
	return contents, nil
}

// refusal is why the village does not take a message, as the channel tells it.
func (r *resident) refusal(out chat.Outgoing) error {
	v := r.village
	reason := v.refuses[out.To.Chat]
	switch {
	case v.fails != 0:
		reason = v.fails
	case v.away:
		reason = chat.NotConnected
	case !slices.Contains([]chat.ID{"anna", "bob", square}, out.To.Chat):
		reason = chat.ChatNotFound
	case out.ReplyTo != "" && r.sin == "insists on what it answers":
		reason = chat.TargetGone
	}
	if reason == 0 {
		return nil
	}
	f := &chat.Failure{Reason: reason, Err: errors.New("the village does not want it")}
	if reason == chat.RateLimited && r.sin != "names no time" {
		f.RetryAfter = time.Second
	}
	switch r.sin {
	case "knows one reason":
		f.Reason = chat.Forbidden
		if reason == chat.Forbidden {
			f.Reason = chat.Invalid
		}
	case "is never sure":
		f.MaybeDelivered = true
	case "tells the password":
		f.Err = errors.New("it says " + password)
	}
	return f
}

func (r *resident) change(id chat.MessageID, change func(*shown)) (err error) {
	r.village.do(func() {
		s := r.village.find(id)
		if s == nil {
			err = &chat.Failure{Reason: chat.TargetGone}
			return
		}
		change(s)
	})
	if r.sin == "does not look what is gone" {
		return nil
	}
	return err
}

func (r *resident) Edit(_ context.Context, _ chat.Address, id chat.MessageID, text string, _ [][]chat.Button) error {
	return r.change(id, func(s *shown) {
		if r.sin != "edits nothing" {
			s.Text = text
		}
	})
}

func (r *resident) Delete(_ context.Context, _ chat.Address, id chat.MessageID) error {
	return r.change(id, func(s *shown) { s.gone = r.sin != "deletes nothing" })
}

func (r *resident) React(_ context.Context, _ chat.Address, id chat.MessageID, emoji string) error {
	r.village.do(func() {
		if emoji != "" || r.sin != "takes no reaction back" {
			r.village.marks[id] = emoji
		}
	})
	return nil
}

func (r *resident) Typing(_ context.Context, to chat.Address, active bool) error {
	r.village.do(func() {
		if active && r.sin != "types in secret" {
			r.village.typed[to.Chat] = true
		}
	})
	return nil
}

func (r *resident) Draft(_ context.Context, to chat.Address, _ int64, text string) error {
	r.village.do(func() { r.village.drafts[to.Chat] = text })
	return nil
}

func (r *resident) SetCommands(_ context.Context, commands []chat.CommandSpec) error {
	r.village.do(func() {
		if r.sin != "only adds to its menu" {
			r.village.menu = nil
		}
		for _, c := range commands[:min(len(commands), mostMenu)] {
			r.village.menu = append(r.village.menu, c.Name)
		}
	})
	return nil
}

func (r *resident) Health(context.Context) error {
	r.village.mu.Lock()
	defer r.village.mu.Unlock()
	if (r.village.away || r.village.revoked) && r.sin != "is always well" {
		return errors.New("nobody is there")
	}
	return nil
}
