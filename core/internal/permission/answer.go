package permission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// verdict is the answer to a question, as the store keeps it.
type verdict struct {
	Allow bool     `json:"allow"`
	Said  string   `json:"said,omitempty"`  // for the model: the reason, or the choice
	Plain *Written `json:"plain,omitempty"` // the plain message that was the answer, if it was not a command
}

func readVerdict(answer json.RawMessage) (v verdict, err error) {
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, fmt.Errorf("read an answer: %w", err)
	}
	return v, nil
}

// decision is the answer for the model. For a choice it contains the chosen options instead of a message.
func (v verdict) decision(b body) agent.Decision {
	switch {
	case v.Allow:
		return agent.Decision{Allow: true, Message: v.Said}
	case v.Said == "" && b.About == wording.AboutPlan:
		return agent.Decision{Message: "The plan was not approved."}
	case v.Said == "":
		return agent.Decision{Message: "It was not allowed."}
	default:
		return agent.Decision{Message: v.Said}
	}
}

// granted reports whether an earlier permission makes the question unnecessary.
func (d *Approvals) granted(ctx context.Context, run *conversation.Turn, q agent.Question) (bool, error) {
	grants, err := d.options.Store.Grants(ctx, run.Session.Key)
	if err != nil {
		return false, err
	}
	has := func(rule string) bool {
		return slices.ContainsFunc(grants, func(g domain.Grant) bool {
			return (g.Rule == rule || strings.HasPrefix(rule, exactly) && strings.HasPrefix(g.Rule, rule+" ")) && g.Authority == run.Caller.Authority && (g.ClaudeSession == "" || g.ClaudeSession == run.Head.ClaudeSession)
		})
	}
	for _, rule := range rules(q) {
		if !has(rule) && !has(exactly+digest(q, 0)) {
			return false, nil
		}
	}
	return true, nil
}

// Answer takes a person's answer to a question: a number, a word such as once or no, or for a choice their own words.
// It returns the reply to them, which is empty if the question's message shows it. known is false for an unknown id.
func (d *Approvals) Answer(ctx context.Context, caller chat.Caller, id, answer string) (told string, known bool, err error) {
	told, known, err = d.answer(ctx, caller, id, answer, nil)
	crashpoint.Pass("answered") // The answer is durable, Claude may not have it yet.
	return told, known, err
}

func (d *Approvals) answer(ctx context.Context, caller chat.Caller, id, answer string, plain *Written) (told string, known bool, err error) {
	d.mu.Lock()
	q, open := d.open[id]
	d.mu.Unlock()
	if !open {
		row, err := d.options.Store.Question(ctx, id)
		switch {
		case errors.Is(err, domain.ErrNotFound):
			return "", false, nil
		case err != nil:
			return "", false, err
		case row.State != domain.QuestionOpen:
			return d.tooLate(ctx, row, plain)
		}
		if q, open = d.opened(row, math.MaxInt64); !open { // being asked right now; the asking turn reports it in a moment
			return wording.QuestionUnreadable, true, nil
		}
	}
	q.plain = plain
	if !d.mayAnswer(q, caller) {
		return wording.QuestionForOwners, true, nil
	}
	q.by = nameOf(caller)
	word, rest, _ := strings.Cut(strings.TrimSpace(answer), " ")
	rest = strings.TrimSpace(rest)
	if q.body.About == wording.AboutChoice {
		return d.chosen(ctx, q, caller, strings.TrimSpace(answer))
	}
	switch q.word(word) {
	case "go", "leave":
		return d.resume(ctx, q, caller, q.word(word))
	case "once":
		return d.settled(ctx, q, verdict{Allow: true}, wording.AllowedOnce(name(caller), q.body.what()))
	case "yes":
		return d.settled(ctx, q, verdict{Allow: true}, wording.PlanApproved(name(caller), q.body.what()))
	case "session":
		return d.grant(ctx, q, caller, q.row.ClaudeSession, wording.AllowedSession(name(caller), q.body.what()))
	case "always":
		return d.grant(ctx, q, caller, "", wording.AllowedAlways(name(caller), q.body.what()))
	case "no":
		return d.refuse(ctx, q, caller, rest)
	case "why":
		if err := d.awaitReason(ctx, id, place{nameOf(caller), caller.Address}); err != nil {
			return "", true, err
		}
		return wording.QuestionWhyNot, true, nil
	case "":
		return wording.WhichAnswer(q.help(id)), true, nil
	default:
		return wording.NoAnswer(oneLine(word), q.help(id)), true, nil
	}
}

// awaitReason makes the person's next message the reason for their refusal. The chat says so, so it is durable.
func (d *Approvals) awaitReason(ctx context.Context, id string, of place) error {
	d.settling <- struct{}{}
	defer func() { <-d.settling }()
	d.mu.Lock()
	q, open := d.open[id]
	d.mu.Unlock()
	if !open {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(q.body.Reasons), func(p pendingReason) bool { return p.place == of })
	q.body.Reasons = append(others, pendingReason{of, time.Now()})
	var err error
	if q.row.Body, err = json.Marshal(q.body); err != nil {
		return err
	}
	if err := d.options.Store.Redraft(ctx, id, q.row.Body); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, open := d.open[id]; open {
		d.open[id] = q
	}
	return nil
}

// unknown stands for a word that is not an answer.
const unknown = "?"

// word returns the answer that a word or a number stands for, or [unknown]; "" if there is none.
func (q question) word(typed string) string {
	typed = strings.ToLower(typed)
	options := q.body.options()
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(options) {
		return options[n-1].word
	}
	yes := map[wording.Subject]string{wording.AboutPlan: "yes", wording.AboutResume: "go"}[q.body.About]
	no := map[wording.Subject]string{wording.AboutResume: "leave"}[q.body.About]
	switch typed {
	case "yes", "y", "allow", "once":
		typed = cmp.Or(yes, "once")
	case "no", "n", "deny":
		typed = cmp.Or(no, "no")
	}
	if typed != "" && !slices.ContainsFunc(options, func(o option) bool { return o.word == typed }) {
		return unknown
	}
	return typed
}

func (q question) help(id string) string {
	words := []string{}
	for _, o := range q.body.options() {
		words = append(words, o.word)
	}
	return wording.QuestionAnswers(id, words)
}

// settled stores the answer to a question, and the permissions that it grants.
func (d *Approvals) settled(ctx context.Context, q question, v verdict, said string, grants ...domain.Grant) (string, bool, error) {
	v.Plain = q.plain
	row, now, err := d.settle(ctx, q.row.ID, domain.QuestionAnswered, v, said, grants...)
	if err != nil {
		return "", true, err
	}
	if now {
		d.log.Info("a question was answered", "question", row.ID, "session", row.Session, "about", q.subject(), "allowed", v.Allow, "lasts", lasting(grants), "by", q.by)
		return "", true, nil
	}
	return d.tooLate(ctx, row, q.plain)
}

// subject is what a question is about, for the log: a tool's name, but not its input.
func (q question) subject() string { return cmp.Or(q.body.Tool, string(q.body.About)) }

// lasting is how long an answer is valid, for the log.
func lasting(grants []domain.Grant) string {
	switch {
	case len(grants) == 0:
		return "once"
	case grants[0].ClaudeSession != "":
		return "session"
	default:
		return "always"
	}
}

// grant allows more than the one use that was asked for.
func (d *Approvals) grant(ctx context.Context, q question, caller chat.Caller, claudeSession, said string) (string, bool, error) {
	var grants []domain.Grant
	for _, rule := range q.body.granted() {
		grants = append(grants, domain.Grant{Session: q.row.Session, ClaudeSession: claudeSession, Authority: q.row.Authority, Rule: rule, By: nameOf(caller)})
	}
	return d.settled(ctx, q, verdict{Allow: true}, said, grants...)
}

func (d *Approvals) refuse(ctx context.Context, q question, caller chat.Caller, reason string) (string, bool, error) {
	v := verdict{}
	if reason != "" {
		v = verdict{Said: "It was not allowed, for this reason: " + cut(reason, maxReason)}
	}
	return d.settled(ctx, q, v, wording.Denied(name(caller), q.body.what(), cut(oneLine(reason), maxLine)))
}

// chosen takes the answer to a choice: numbers of labels, or free text.
func (d *Approvals) chosen(ctx context.Context, q question, caller chat.Caller, answer string) (string, bool, error) {
	if answer == "" {
		return wording.WhichAnswer(q.help(q.row.ID)), true, nil
	}
	picked := answer
	if picks, ok := q.picks(answer, false); ok {
		labels := make([]string, len(picks))
		for i, p := range picks {
			labels[i] = q.body.Labels[p]
		}
		picked = strings.Join(labels, ", ")
	}
	return d.settled(ctx, q, verdict{Allow: true, Said: picked}, wording.Chosen(name(caller), q.body.what(), cut(oneLine(picked), maxLine)))
}

// picks returns the labels that a text names, by number or by name, counted from 0. If a label is itself the number of
// another one, labels decides whether the text means labels or numbers.
func (q question) picks(text string, labels bool) ([]int, bool) {
	if i, ok := q.pick(text, labels); ok {
		return []int{i}, true
	}
	blanks := !strings.ContainsFunc(text, unicode.IsLetter)
	var list []int
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || blanks && r == ' ' }) {
		i, ok := q.pick(part, labels)
		if !ok {
			return nil, false
		}
		list = append(list, i)
	}
	return list, len(list) > 0 && (q.body.Several || len(list) == 1)
}

func (q question) pick(text string, labels bool) (int, bool) {
	text = strings.TrimSpace(text)
	named := -1
	for i, label := range q.body.Labels {
		switch {
		case !strings.EqualFold(text, label):
		case named >= 0: // it names two of them, and counts as the person's own words
			return -1, false
		default:
			named = i
		}
	}
	n, err := strconv.Atoi(text)
	numbered := err == nil && n >= 1 && n <= len(q.body.Labels)
	if numbered && (named < 0 || !labels) {
		return n - 1, true
	}
	return named, named >= 0
}

// nameOf identifies a person as channel:user.
func nameOf(c chat.Caller) string { return c.Address.Channel + ":" + string(c.Sender.ID) }

// name is a person's name as people know it.
func name(c chat.Caller) string { return wording.Escape(cut(oneLine(c.Sender.Name()), maxLabel)) }
