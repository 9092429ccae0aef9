package permission

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The words that answer a part of a form. They are never values: what is offered as one of them is chosen by its number.
const (
	yesWord     = "yes"
	denyWord    = "no"
	usualWord   = "usual"
	skipWord    = "skip"
	declineWord = "decline"
	sendWord    = "send"
	againWord   = "again"
	acceptWord  = "accept"
	doneWord    = "done"
)

// options are the answers to a part of a form. What people may write is not among them.
func (p formPart) options() []option {
	var list []option
	f := p.Field
	switch {
	case f == nil && p.Sends != nil:
		list = append(list, option{sendWord, wording.SendLabel, wording.SendHelp})
		if p.Change {
			list = append(list, option{againWord, wording.AgainLabel, wording.AgainHelp})
		}
	case f == nil && p.Link != "":
		list = append(list, option{doneWord, wording.DoneLabel, wording.DoneHelp})
	case f == nil:
		list = append(list, option{acceptWord, wording.AcceptLabel, wording.AcceptHelp})
	default:
		for i, label := range f.Labels {
			list = append(list, option{fmt.Sprint(i + 1), label, label})
		}
		if f.Truth {
			list = append(list, option{yesWord, wording.YesLabel, ""}, option{denyWord, wording.DenyLabel, ""})
		}
		if f.Usual != "" {
			list = append(list, option{usualWord, wording.UsualLabel(f.Usual), wording.UsualHelp(f.Usual)})
		}
		if !f.Required {
			list = append(list, option{skipWord, wording.SkipLabel, wording.SkipHelp})
		}
	}
	return append(list, option{declineWord, wording.DeclineLabel, wording.DeclineHelp})
}

// word returns the word that a text is, if it answers this part; else "".
func (p formPart) word(text string) string {
	for _, o := range p.options()[p.labels():] {
		if strings.EqualFold(text, o.word) {
			return o.word
		}
	}
	return ""
}

// labels is the number of labels, which are the first options.
func (p formPart) labels() int {
	if p.Field == nil {
		return 0
	}
	return len(p.Field.Labels)
}

// takesWords reports whether a message without a reply may answer the part: a field is asked for, and not whether something is confirmed.
func (p formPart) takesWords() bool { return p.Field != nil }

// bareForm returns the answer in a message without a reply. A text that is no answer of a list is an ordinary message; any text may be a
// value where nothing else is asked.
func (q question) bareForm(text string, alone bool) (answer string, ok bool) {
	p := q.body.Form
	if word := p.word(text); word != "" {
		return word, p.takesWords() || q.numbered
	}
	if _, picked := q.picks(text, false); picked {
		return text, true
	}
	return text, alone && p.Field != nil && p.Field.Free()
}

// filled is the effect of an answer to a part of a form.
func (q question) filled(caller chat.Caller, answer string) effect {
	p, who, what := *q.body.Form, name(caller), q.body.what()
	given := func(value any, shown, said string) effect {
		encoded, err := json.Marshal(value)
		if err != nil {
			return effect{reply: wording.QuestionUnreadable}
		}
		return effect{verdict: verdict{Allow: true, Said: shown, Value: encoded}, said: said}
	}
	switch word := p.word(answer); word {
	case declineWord:
		return effect{verdict: verdict{}, said: wording.FormDeclined(who, what)}
	case skipWord:
		return effect{verdict: verdict{Allow: true}, said: wording.LeftOut(who, what)}
	case yesWord:
		return given(true, wording.YesLabel, wording.Filled(who, what, wording.YesLabel))
	case denyWord:
		return given(false, wording.DenyLabel, wording.Filled(who, what, wording.DenyLabel))
	case againWord:
		return effect{verdict: verdict{Allow: true, Said: word}, said: wording.AskedAgain(who, what)}
	case sendWord, acceptWord, doneWord:
		return effect{verdict: verdict{Allow: true, Said: word}, said: wording.Sending(who, what)}
	case usualWord:
		answer = p.Field.Usual
	}
	switch {
	case answer == "":
		return effect{reply: wording.WhichAnswer(q.help())}
	case p.Field != nil && p.Field.Free():
		value, ok := p.Field.written(answer)
		if !ok {
			return effect{reply: wording.UnfitValue(p.Field.takes())}
		}
		shown := cut(oneLine(answer), maxField)
		return given(value, shown, wording.Filled(who, what, cut(shown, maxLine)))
	}
	picks, ok := q.picks(answer, false)
	if !ok {
		return effect{reply: wording.NoAnswer(oneLine(answer), q.help())}
	}
	value, ok := p.Field.chosen(picks)
	if !ok {
		return effect{reply: wording.UnfitValue(p.Field.takes())}
	}
	labels := make([]string, len(picks))
	for i, pick := range picks {
		labels[i] = p.Field.Labels[pick]
	}
	shown := cut(strings.Join(labels, ", "), maxField)
	return given(value, shown, wording.Filled(who, what, cut(shown, maxLine)))
}

// declined reports whether a person has declined a form: nobody who answers in time says nothing.
func (v verdict) declined() bool { return !v.Allow && v.Said == "" }
