package permission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// effect is what an answer does to its question: it has one of the parts.
type effect struct {
	reply  string // nothing; who wrote it gets this
	reason bool   // the next message of who wrote it is the reason for a no
	offer  string // "go" or "leave": an offer is accepted, or is not

	// The question is answered.
	verdict verdict
	said    string // what its message says from then on
	grants  []domain.Grant
}

// effect reads a person's answer: a number, a word such as once or no, or for a choice their own words.
func (q question) effect(caller chat.Caller, answer string) effect {
	answer = strings.TrimSpace(answer)
	switch q.body.About {
	case wording.AboutChoice:
		return q.chosen(caller, answer)
	case wording.AboutForm:
		return q.filled(caller, answer)
	}
	typed, rest, _ := strings.Cut(answer, " ")
	who, what := name(caller), q.body.what()
	switch word := q.word(typed); word {
	case "go", "leave":
		return effect{offer: word}
	case "once":
		return effect{verdict: verdict{Allow: true}, said: wording.AllowedOnce(who, what)}
	case "yes":
		return effect{verdict: verdict{Allow: true}, said: wording.PlanApproved(who, what)}
	case "session":
		grants := q.grants(q.row.ClaudeSession, caller)
		return effect{verdict: verdict{Allow: true}, said: wording.AllowedSession(who, what), grants: grants}
	case "always":
		return effect{verdict: verdict{Allow: true}, said: wording.AllowedAlways(who, what), grants: q.grants("", caller)}
	case "no":
		reason := strings.TrimSpace(rest)
		e := effect{said: wording.Denied(who, what, cut(oneLine(reason), maxLine))}
		if reason != "" {
			e.verdict = verdict{Said: "It was not allowed, for this reason: " + cut(reason, maxReason)}
		}
		return e
	case askWhy:
		return effect{reason: true}
	case "":
		return effect{reply: wording.WhichAnswer(q.help())}
	default:
		return effect{reply: wording.NoAnswer(oneLine(typed), q.help())}
	}
}

// chosen is the effect of the answer to a choice: numbers of labels, or free text.
func (q question) chosen(caller chat.Caller, answer string) effect {
	if answer == "" {
		return effect{reply: wording.WhichAnswer(q.help())}
	}
	picked := answer
	if picks, ok := q.picks(answer, false); ok {
		labels := make([]string, len(picks))
		for i, p := range picks {
			labels[i] = q.body.Labels[p]
		}
		picked = strings.Join(labels, ", ")
	}
	said := wording.Chosen(name(caller), q.body.what(), cut(oneLine(picked), maxLine))
	return effect{verdict: verdict{Allow: true, Said: picked}, said: said}
}

// grants are the permissions that an answer gives beyond the one use that was asked for; in all claude sessions if none is
// named.
func (q question) grants(claudeSession string, by chat.Caller) []domain.Grant {
	var list []domain.Grant
	for _, rule := range q.body.granted() {
		g := domain.Grant{Session: q.row.Session, ClaudeSession: claudeSession, Authority: q.row.Authority, Rule: rule, By: nameOf(by)}
		list = append(list, g)
	}
	return list
}

func (q question) help() string {
	words := []string{}
	for _, o := range q.body.options() {
		words = append(words, o.word)
	}
	return wording.QuestionAnswers(q.row.ID, words)
}

// unknown stands for a word that is not an answer.
const unknown = "?"

// word returns the answer that a word or a number stands for, or [unknown]; "" without one.
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

// replied returns the answer in a reply to the question's message. Other words in reply to a permission question count
// as a reason for no.
func (q question) replied(text string) (answer string, ok bool) {
	if q.body.About == wording.AboutForm {
		return text, true
	}
	word := q.word(text)
	switch {
	case q.body.About == wording.AboutChoice:
		return q.choice(text), true
	case word != unknown && word != askWhy:
		return text, true
	case q.body.About == wording.AboutResume:
		return "", false
	default:
		return "no " + text, true
	}
}

// bare returns the answer in a message without a reply, for a choice or a question that was asked with numbers. Words
// are an answer only where nothing else is asked.
func (q question) bare(text string, alone bool) (answer string, ok bool) {
	switch q.body.About {
	case wording.AboutForm:
		return q.bareForm(text, alone)
	case wording.AboutChoice:
		_, picked := q.picks(text, true)
		return q.choice(text), picked || alone
	}
	n, err := strconv.Atoi(text)
	return text, err == nil && n >= 1 && n <= len(q.body.options())
}

// choice returns the answer to a choice: the numbers of the labels that the text names, or its words.
func (q question) choice(text string) string {
	picks, ok := q.picks(text, !q.numbered)
	if !ok {
		return text
	}
	numbers := make([]string, len(picks))
	for i, p := range picks {
		numbers[i] = strconv.Itoa(p + 1)
	}
	return strings.Join(numbers, ",")
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
