package permission

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// question is a question of the store. Its body is empty if it cannot be read, such as that of another version.
type question struct {
	row  domain.Question
	body body

	// Where a person writes, its message has numbers in place of buttons; it is in their direct chat, and of a turn of another chat.
	numbered, elsewhere bool
}

func read(row domain.Question) question {
	q := question{row: row}
	if err := json.Unmarshal(row.Body, &q.body); err != nil {
		q.body = body{}
	}
	return q
}

func (q question) readable() bool {
	return q.body.About != "" && (q.body.About == wording.AboutForm) == (q.body.Form != nil)
}

// readAll returns the questions that can be read.
func readAll(rows []domain.Question) []question {
	list := make([]question, 0, len(rows))
	for _, row := range rows {
		if q := read(row); q.readable() {
			list = append(list, q)
		}
	}
	return list
}

// subject is what a question is about, for the log: a tool's name, but not its input.
func (q question) subject() string { return cmp.Or(q.body.Tool, string(q.body.About)) }

// theirs reports whether the person whose turn asks may answer.
func (q question) theirs() bool {
	return q.body.personal() || q.body.About == wording.AboutResume
}

// mayAnswer reports whether the caller may answer: those who may decide for everyone, and for questions other than
// permissions the person whose turn asks.
func (d *Approvals) mayAnswer(q question, caller chat.Caller) bool {
	return d.options.Conversations.Decides(caller) || q.theirs() && q.row.Asker == nameOf(caller)
}

// nameOf identifies a person as channel:user, and an [operator] by how they answer.
func nameOf(c chat.Caller) string {
	if isOperator(c) {
		return string(c.Sender.ID)
	}
	return c.Address.Channel + ":" + string(c.Sender.ID)
}

// name is a person's name as people know it.
func name(c chat.Caller) string { return wording.Escape(cut(oneLine(c.Sender.Name()), maxLabel)) }

// idLetters excludes letters that are easily mistaken for others.
const idLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// idLength is the length of ids. Pairing codes are longer.
const idLength = 5

func newID() string {
	raw := make([]byte, idLength)
	_, _ = rand.Read(raw) // it never fails
	for i, b := range raw {
		raw[i] = idLetters[int(b)%len(idLetters)]
	}
	return string(raw)
}

// ID returns the question's id that a person typed, in its normal form.
func ID(typed string) (string, bool) {
	typed = strings.ToUpper(strings.TrimSpace(typed))
	return typed, len(typed) == idLength && strings.Trim(typed, idLetters) == ""
}

// retire ends a question without an answer, or makes the one void that it has. It returns the question as it is then, and
// whether this call has changed it.
func (d *Approvals) retire(
	ctx context.Context, q question, as domain.QuestionState, said string,
) (row domain.Question, retired bool, err error) {
	row, retired, err = d.options.Store.Settle(ctx, q.row.ID, as, nil, said)
	if retired {
		d.log.Info("a question was not answered", "question", row.ID, "session", row.Session, "about", q.subject(), "outcome", string(as))
	}
	return row, retired, err
}

// Open is an open question.
type Open struct {
	ID      string
	About   string // a tool's name, or another subject; not the tool's input
	Session string
	To      chat.Address // where it was asked
	Since   time.Time
	// Asker may answer it in addition to those who may decide, as channel:user; empty: no one.
	Asker string

	Expires time.Time
	Asked   wording.Question // what people see of it
	Options []Option         // in order
}

// Option is an answer that [Approvals.Decide] takes.
type Option struct {
	Word  string // the answer
	Label string
	Help  string // may be empty
}

// Open returns the open questions, oldest first.
func (d *Approvals) Open(ctx context.Context) ([]Open, error) {
	rows, err := d.options.Store.Questions(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the open questions: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(row domain.Question) bool { return row.State != domain.QuestionOpen })
	list := make([]Open, 0, len(rows))
	for _, q := range readAll(rows) {
		o := Open{ID: q.row.ID, About: q.subject(), Session: q.row.Session, To: q.row.To(), Since: q.row.CreatedAt, Expires: q.row.ExpiresAt, Asked: q.body.question(q.row.ID), Options: q.body.decidable()}
		if q.theirs() {
			o.Asker = q.row.Asker
		}
		list = append(list, o)
	}
	return list, nil
}
