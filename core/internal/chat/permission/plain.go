package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Asked are the questions that are open where a person writes, as far as that person's next message may answer one. The zero
// Asked means no question.
type Asked struct {
	open    []question
	may     map[string]bool // by id, whether the person may answer it
	reason  string          // the question for whose refusal the person has announced a reason; empty: none
	reply   bool            // the message replies to another one
	replied *question       // whose message that is, if the person may answer it; nil: none
	direct  bool            // the chat is a direct one
}

// Asked returns the questions that a message of a caller may answer. To is the message that it replies to; empty: none.
func (d *Approvals) Asked(ctx context.Context, caller chat.Caller, to chat.MessageID) (Asked, error) {
	open, reason, err := d.openAt(ctx, caller)
	if err != nil || len(open) == 0 && reason == "" {
		return Asked{}, err
	}
	a := Asked{open: open, may: map[string]bool{}, reason: reason, reply: to != "", direct: caller.Kind == chat.Direct}
	for _, q := range open {
		a.may[q.row.ID] = d.mayAnswer(q, caller)
	}
	if !a.reply {
		return a, nil
	}
	q, found, err := d.repliedTo(ctx, open, to)
	if found && a.may[q.row.ID] {
		a.replied = &q
	}
	return a, err
}

// Answer returns the answer that a text gives, if it is not a command and a question is open. That is a text after its writer
// announced a reason; a reply to the question's message; or, in a direct chat or addressed to the agent, the number or label
// of an answer if one question there accepts it, or free text if only a choice is open there, which a turn of that chat asks. A number gives permission only
// in a reply, or if the question was asked with numbers: where there are buttons, Claude may have asked for a number in its
// text. Other words never give permission.
func (a Asked) Answer(text string, addressed bool) (id, answer string, ok bool) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", "", false
	case a.reason != "":
		return a.reason, "no " + text, true
	case a.replied != nil:
		answer, ok = a.replied.replied(text)
		return a.replied.row.ID, answer, ok
	case a.reply, !a.direct && !addressed:
		return "", "", false
	}
	var open, takes []question
	for _, q := range a.open {
		if q.body.About == wording.AboutResume {
			continue
		}
		open = append(open, q)
		if (q.body.personal() && !q.elsewhere || q.numbered) && a.may[q.row.ID] {
			takes = append(takes, q)
		}
	}
	if len(takes) != 1 {
		return "", "", false
	}
	answer, ok = takes[0].bare(text, len(open) == 1 && !takes[0].elsewhere)
	return takes[0].row.ID, answer, ok
}

// OpenNotice returns the notice for a person whose message reached a turn that waits for an answer in the same chat: Claude
// reads it only afterwards. The id is the question's; false: no question is open there.
func (d *Approvals) OpenNotice(ctx context.Context, caller chat.Caller) (id, notice string, ok bool, err error) {
	open, _, err := d.openAt(ctx, caller)
	for _, q := range open {
		if q.row.Session == caller.Session && q.body.About != wording.AboutResume {
			return q.row.ID, wording.QuestionStillOpen, true, err
		}
	}
	return "", "", false, err
}

// place is where a person, as channel:user, writes.
type place struct {
	Who string       `json:"who"`
	At  chat.Address `json:"at"`
}

// noted is the text that a question's body contains while the question waits for a reason from this place.
func (p place) noted() string {
	encoded, _ := json.Marshal(p) // texts can always be encoded
	return strings.TrimSuffix(string(encoded), "}")
}

// pendingReason makes a person's next message at a place the reason for their refusal.
type pendingReason struct {
	place
	Since time.Time `json:"since"`
}

// openAt returns claude's open questions in a chat, and the one for which the caller is about to give a reason; empty:
// none. It is asked of the store for each message: what it finds does not grow with the history.
func (d *Approvals) openAt(ctx context.Context, caller chat.Caller) (open []question, reason string, err error) {
	from := place{nameOf(caller), caller.Address}
	rows, err := d.options.Store.OpenQuestions(ctx, caller.Address, chat.ID(caller.Sender.ID), from.noted())
	if err != nil {
		return nil, "", fmt.Errorf("look for open questions: %w", err)
	}
	var since time.Time // the latest comes first
	for _, q := range readAll(rows) {
		if here := slices.IndexFunc(q.row.Messages, func(m domain.QuestionMessage) bool { return asksIn(m.To, caller) }); here >= 0 {
			q.numbered, q.elsewhere = q.row.Messages[here].Numbered, q.row.Messages[here].Person != ""
			open = append(open, q)
		}
		for _, p := range q.body.Reasons {
			if p.place == from && p.Since.After(since) {
				reason, since = q.row.ID, p.Since
			}
		}
	}
	return open, reason, nil
}

// asksIn reports whether a message to an address appears where the caller writes. For a person who had not written
// before, the address is their own id.
func asksIn(to chat.Address, caller chat.Caller) bool {
	person := chat.Address{Channel: caller.Address.Channel, Chat: chat.ID(caller.Sender.ID)}
	return to == caller.Address || caller.Kind == chat.Direct && to == person
}

// repliedTo finds the question whose message is replied to.
func (d *Approvals) repliedTo(ctx context.Context, open []question, to chat.MessageID) (q question, found bool, err error) {
	for _, q := range open {
		for _, m := range q.row.Messages {
			id, _, err := d.options.Store.SentItem(ctx, m.Item)
			switch {
			case errors.Is(err, domain.ErrNotFound):
			case err != nil:
				return question{}, false, fmt.Errorf("find the question that a message replies to: %w", err)
			case id == to:
				return q, true, nil
			}
		}
	}
	return question{}, false, nil
}
