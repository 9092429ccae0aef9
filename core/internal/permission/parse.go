package permission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Written is a plain message that answers a question.
type Written struct {
	ID     string      `json:"id"` // unique to the message
	Text   string      `json:"text"`
	Caller chat.Caller `json:"caller"`
	// Words reports whether it makes sense without the question: if it comes too late, it is treated as an ordinary
	// message.
	Words bool `json:"words,omitempty"`
}

func (w *Written) speaks() bool { return w != nil && w.Words }

// ParseAnswer returns the answer that a message gives, if it is not a command and a question is open where it was
// written. That is a message after its writer announced a reason; a reply to the question's message; or, in a direct
// chat or addressed to the agent, the number or label of an answer if one question there accepts it, or free text if
// only a choice is open there. A number gives permission only in a reply, or if the question was asked with numbers:
// where there are buttons, Claude may have asked for a number in its text. Other words never give permission.
func (d *Approvals) ParseAnswer(ctx context.Context, caller chat.Caller, m domain.Message, addressed bool) (id, answer string, ok bool, err error) {
	text := strings.TrimSpace(m.Text)
	open, reason := d.openAt(caller)
	switch {
	case text == "":
		return "", "", false, nil
	case reason != "":
		return reason, "no " + text, true, nil
	case len(open) == 0:
		return "", "", false, nil
	case m.ReplyTo != nil && m.ReplyTo.ID != "":
		q, found, err := d.repliedTo(ctx, open, m.ReplyTo.ID)
		if err != nil || !found || !d.mayAnswer(q, caller) {
			return "", "", false, err
		}
		answer, ok = q.replied(text)
		return q.row.ID, answer, ok, nil
	case caller.Kind != chat.Direct && !addressed:
		return "", "", false, nil
	}
	id, answer, ok = d.bare(open, caller, text)
	return id, answer, ok, nil
}

// openAt returns claude's open questions in a chat, and the one for which the caller is about to give a reason; empty:
// none.
func (d *Approvals) openAt(caller chat.Caller) (open []question, reason string) {
	d.storing.Lock()
	defer d.storing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	var since time.Time // the latest comes first
	for id, q := range d.open {
		if asksIn(q.row.To, caller) {
			open = append(open, q)
		}
		for _, p := range q.body.Reasons {
			if p.place == (place{nameOf(caller), caller.Address}) && p.Since.After(since) {
				reason, since = id, p.Since
			}
		}
	}
	return open, reason
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
		id, _, err := d.options.Store.SentItem(ctx, q.row.Item)
		switch {
		case errors.Is(err, domain.ErrNotFound):
		case err != nil:
			return question{}, false, fmt.Errorf("find the question that a message replies to: %w", err)
		case id == to:
			return q, true, nil
		}
	}
	return question{}, false, nil
}

// mayAnswer reports whether the caller may answer: those who may decide for everyone, and for questions other than
// permissions the person whose turn asks.
func (d *Approvals) mayAnswer(q question, caller chat.Caller) bool {
	return d.options.Conversations.Decides(caller) || q.theirs() && q.row.Asker == nameOf(caller)
}

// theirs reports whether the person whose turn asks may answer.
func (q question) theirs() bool {
	return q.body.About == wording.AboutChoice || q.body.About == wording.AboutResume
}

// replied returns the answer in a reply to the question's message. Other words in reply to a permission question count
// as a reason for no.
func (q question) replied(text string) (answer string, ok bool) {
	word := q.word(text)
	switch {
	case q.body.About == wording.AboutChoice:
		return q.choice(text), true
	case word != unknown && word != "why":
		return text, true
	case q.body.About == wording.AboutResume:
		return "", false
	default:
		return "no " + text, true
	}
}

// choice returns the answer to a choice: the numbers of the labels that the text names, or its words.
func (q question) choice(text string) string {
	picks, ok := q.picks(text, !q.body.Numbered)
	if !ok {
		return text
	}
	numbers := make([]string, len(picks))
	for i, p := range picks {
		numbers[i] = strconv.Itoa(p + 1)
	}
	return strings.Join(numbers, ",")
}

// bare finds the question that a message without a reply answers.
func (d *Approvals) bare(open []question, caller chat.Caller, text string) (id, answer string, ok bool) {
	open = slices.DeleteFunc(open, func(q question) bool { return q.body.About == wording.AboutResume })
	var takes []question
	for _, q := range open {
		if (q.body.About == wording.AboutChoice || q.body.Numbered) && d.mayAnswer(q, caller) {
			takes = append(takes, q)
		}
	}
	if len(takes) != 1 {
		return "", "", false
	}
	q := takes[0]
	if q.body.About == wording.AboutChoice {
		_, picked := q.picks(text, true)
		return q.row.ID, q.choice(text), picked || len(open) == 1
	}
	n, err := strconv.Atoi(text)
	return q.row.ID, text, err == nil && n >= 1 && n <= len(q.body.options())
}

// Hear takes a message as the answer that [Approvals.ParseAnswer] found in it. It returns the reply to its writer, if not
// empty. Words that come too late become an ordinary message. The same message is taken once.
func (d *Approvals) Hear(ctx context.Context, id, answer string, w Written) (string, error) {
	d.mu.Lock()
	q, open := d.open[id]
	d.mu.Unlock()
	if !open {
		row, err := d.options.Store.Question(ctx, id)
		switch {
		case err == nil:
			q, _ = d.read(row)
		case !errors.Is(err, domain.ErrNotFound):
			return "", err
		}
	}
	w.Words = q.body.About == wording.AboutChoice || strings.HasPrefix(answer, "no ")
	told, known, err := d.answer(ctx, w.Caller, id, answer, &w)
	if err == nil && !known {
		told, _, err = d.tooLate(ctx, domain.Question{Session: w.Caller.Session}, &w)
	}
	crashpoint.Pass("answered") // As in Answer.
	return told, err
}

// tooLate handles an answer to a closed question.
func (d *Approvals) tooLate(ctx context.Context, row domain.Question, plain *Written) (told string, known bool, err error) {
	if plain == nil {
		return wording.QuestionClosed, true, nil
	}
	if v, err := readVerdict(row.Answer); err == nil && v.Plain != nil && v.Plain.ID == plain.ID {
		return "", true, nil // the host ended between the answer and its completion
	}
	if !plain.Words {
		return wording.QuestionClosed, true, nil
	}
	if err := d.tell(ctx, row.Session, plain); err != nil {
		return "", true, err
	}
	return wording.QuestionClosedTold, true, nil
}

// tell passes a message on as an ordinary one.
func (d *Approvals) tell(ctx context.Context, session string, w *Written) error {
	return d.options.Intake.Tell(ctx, chat.EventID("words:"+w.ID), session, w.Caller, w.Text)
}

// OpenNotice returns the notice for a person whose message reached a turn that waits for an answer in the same chat: Claude
// reads it only afterwards. The id is the question's; false: no question is open there.
func (d *Approvals) OpenNotice(caller chat.Caller) (id, told string, ok bool) {
	open, _ := d.openAt(caller)
	for _, q := range open {
		if q.row.Session == caller.Session && q.body.About != wording.AboutResume {
			return q.row.ID, wording.QuestionStillOpen, true
		}
	}
	return "", "", false
}
