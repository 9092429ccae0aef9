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

func (r *fakeChannel) Send(ctx context.Context, out chat.Outgoing) (receipt chat.Receipt, err error) {
	files, err := r.fetch(ctx, out.Media)
	if err != nil {
		return receipt, err
	}
	v := r.fakeNetwork
	if r.defect != "knows nobody by their id" {
		out.To.Chat = chat.ID(strings.TrimPrefix(string(out.To.Chat), neighbour))
	}
	v.do(func() {
		if err = r.refusal(out); err != nil {
			return
		}
		s := &posted{Outgoing: out, id: chat.MessageID(fmt.Sprintf("m%d", len(v.shown))), files: files}
		same := slices.IndexFunc(v.shown, func(old *posted) bool { return old.Key == out.Key })
		switch {
		case same >= 0 && r.defect == "sends the same key again", same >= 0 && r.defect == "forgets keys with its life" && v.shown[same].life != r.life:
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
			err = &chat.Failure{Reason: chat.Temporary, MaybeDelivered: r.defect != "is too sure", Err: errors.New("cut off")}
		}
		switch r.defect {
		case "sends polls in words":
			s.Poll = nil
		case "gives no ids":
			receipt = chat.Receipt{}
		case "writes lines as they are":
			s.Text, _, _ = strings.Cut(out.Text, "\n") // the rest is a command to the network
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
		if r.defect != "leaves drafts" {
			delete(v.drafts, out.To.Chat)
		}
	})
	return receipt, err
}

// fetch returns the contents of files.
func (r *fakeChannel) fetch(ctx context.Context, files []chat.Media) (contents []string, err error) {
	for _, m := range files {
		if m.Size > mostFile && r.defect != "takes files of any size" {
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
	if r.defect == "loses files" {
		return nil, nil
	}
	return contents, nil
}

// refusal is the network's refusal of a message.
func (r *fakeChannel) refusal(out chat.Outgoing) error {
	v := r.fakeNetwork
	reason := v.refuses[out.To.Chat]
	switch {
	case v.fails != 0:
		reason = v.fails
	case v.away:
		reason = chat.NotConnected
	case !slices.Contains([]chat.ID{"anna", "bob", square}, out.To.Chat):
		reason = chat.ChatNotFound
	case out.ReplyTo != "" && r.defect == "insists on what it answers":
		reason = chat.TargetGone
	}
	if reason == 0 {
		return nil
	}
	f := &chat.Failure{Reason: reason, Err: errors.New("refused by the network")}
	if reason == chat.RateLimited && r.defect != "names no time" {
		f.RetryAfter = time.Second
	}
	switch r.defect {
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

func (r *fakeChannel) change(id chat.MessageID, change func(*posted)) (err error) {
	r.fakeNetwork.do(func() {
		s := r.fakeNetwork.find(id)
		if s == nil {
			err = &chat.Failure{Reason: chat.TargetGone}
			return
		}
		change(s)
	})
	if r.defect == "does not look what is gone" {
		return nil
	}
	return err
}

func (r *fakeChannel) Edit(_ context.Context, _ chat.Address, id chat.MessageID, text string, _ [][]chat.Button) error {
	return r.change(id, func(s *posted) {
		if r.defect != "edits nothing" {
			s.Text = text
		}
	})
}

func (r *fakeChannel) Delete(_ context.Context, _ chat.Address, id chat.MessageID) error {
	return r.change(id, func(s *posted) { s.gone = r.defect != "deletes nothing" })
}

func (r *fakeChannel) React(_ context.Context, _ chat.Address, id chat.MessageID, emoji string) error {
	r.fakeNetwork.do(func() {
		if emoji != "" || r.defect != "takes no reaction back" {
			r.fakeNetwork.marks[id] = emoji
		}
	})
	return nil
}

func (r *fakeChannel) Pin(_ context.Context, _ chat.Address, id chat.MessageID, pinned bool) error {
	return r.change(id, func(s *posted) { s.pinned = pinned || r.defect == "leaves pins" })
}

func (r *fakeChannel) Typing(_ context.Context, to chat.Address, active bool) error {
	r.fakeNetwork.do(func() {
		if active && r.defect != "types in secret" {
			r.fakeNetwork.typed[to.Chat] = true
		}
	})
	return nil
}

func (r *fakeChannel) Draft(_ context.Context, to chat.Address, _ int64, text string) error {
	r.fakeNetwork.do(func() { r.fakeNetwork.drafts[to.Chat] = text })
	return nil
}

func (r *fakeChannel) SetCommands(_ context.Context, commands []chat.CommandSpec) error {
	r.fakeNetwork.do(func() {
		if r.defect != "only adds to its menu" {
			r.fakeNetwork.menu = nil
		}
		for _, c := range commands[:min(len(commands), mostMenu)] {
			r.fakeNetwork.menu = append(r.fakeNetwork.menu, c.Name)
		}
	})
	return nil
}

func (r *fakeChannel) Health(context.Context) error {
	r.fakeNetwork.mu.Lock()
	defer r.fakeNetwork.mu.Unlock()
	if (r.fakeNetwork.away || r.fakeNetwork.revoked) && r.defect != "is always well" {
		return errors.New("nobody is there")
	}
	return nil
}
