package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

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
		s := &posted{Outgoing: out, id: chat.MessageID(fmt.Sprintf("m%d", len(v.shown))), files: files}
		same := slices.IndexFunc(v.shown, func(old *posted) bool { return old.Key == out.Key })
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
		if v.cuts {
			v.cuts = false
			err = &chat.Failure{Reason: chat.Temporary, MaybeDelivered: r.sin != "is too sure", Err: errors.New("cut off")}
		}
		switch r.sin {
		case "gives no ids":
			receipt = chat.Receipt{}
		case "writes lines as they are":
			s.Text, _, _ = strings.Cut(out.Text, "\n") // what follows is a command to the village
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

func (r *resident) change(id chat.MessageID, change func(*posted)) (err error) {
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
	return r.change(id, func(s *posted) {
		if r.sin != "edits nothing" {
			s.Text = text
		}
	})
}

func (r *resident) Delete(_ context.Context, _ chat.Address, id chat.MessageID) error {
	return r.change(id, func(s *posted) { s.gone = r.sin != "deletes nothing" })
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
