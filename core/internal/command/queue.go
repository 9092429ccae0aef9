package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// queueOptions says what /queue takes.
func queueOptions() string {
	drops := domain.Drops()
	last := len(drops) - 1
	return fmt.Sprintf("Options: %s; debounce:0.5s, cap:20 (1 to %d), drop:%s or %s; default.",
		strings.Join(domain.Modes(), ", "), domain.MaxCap, strings.Join(drops[:last], ", "), drops[last])
}

// readQueue is the directive /queue: a mode, options, or both.
func readQueue(_ Models, words []string) reading {
	if len(words) == 0 {
		return reading{}
	}
	first := plainWord(words[0])
	if slices.Contains(back, first) {
		return reading{words: 1, args: first, lasting: true, set: func(o *domain.Overrides) { o.Queue = domain.QueueOverrides{} }}
	}
	var chosen domain.QueueOverrides
	r := reading{}
	if mode, ok := domain.ParseMode(first); ok {
		chosen.Mode, r.words = mode, 1
	}
	understood := true
	for _, word := range words[r.words:] {
		name, value, ok := option(word)
		if !ok {
			break
		}
		r.words++
		understood = readOption(&chosen, name, value) && understood
	}
	if r.words == 0 {
		return reading{words: 1, args: words[0]}
	}
	r.args = strings.Join(words[:r.words], " ")
	if understood {
		r.set = func(o *domain.Overrides) {
			o.Queue = domain.Overrides{Queue: chosen}.Over(domain.Overrides{Queue: o.Queue}).Queue
		}
	}
	return r
}

// option takes a word such as "cap:20" apart.
func option(word string) (name, value string, ok bool) {
	at := strings.IndexAny(word, ":=")
	if at < 0 {
		return "", "", false
	}
	name, value = strings.ToLower(word[:at]), plainWord(word[at+1:])
	return name, value, value != "" && (name == "debounce" || name == "cap" || name == "drop")
}

func readOption(o *domain.QueueOverrides, name, value string) bool {
	switch name {
	case "debounce":
		quiet, err := time.ParseDuration(value)
		if err != nil || quiet < 0 || quiet > domain.MaxQuiet {
			return false
		}
		o.Debounce = &quiet
		return true
	case "cap":
		n, err := strconv.Atoi(value)
		o.Cap = n
		return err == nil && n >= 1 && n <= domain.MaxCap
	default:
		drop, ok := domain.ParseDrop(value)
		o.Drop = drop
		return ok
	}
}

// queue shows what waits in the session, and how, or changes that.
func (d desk) queue(ctx context.Context, call Call) (string, error) {
	if call.Args == "" {
		waiting, err := d.store.WaitingMessages(ctx, call.Caller.Session, maxListed+1)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%sCurrent queue settings: %s.\n\n%s", d.listed(call, waiting), queueing(d.effective(call).Queue), queueOptions()), nil
	}
	words := strings.Fields(call.Args)
	r := readQueue(Models{}, words)
	if r.set == nil || r.words < len(words) {
		return unknown("queue", call.Args, queueOptions()), nil
	}
	session, err := d.store.Configure(ctx, call.Caller.Session, r.set)
	if err != nil {
		return "", err
	}
	now := queueing(d.host.Conversations.Session(call.Caller, session).Queue)
	if r.lasting {
		return fmt.Sprintf("The queue settings are the config's again: %s.", now), nil
	}
	return fmt.Sprintf("Queue settings are now: %s.", now), nil
}

// The bounds of what is listed of waiting messages.
const (
	maxListed  = 20
	maxExcerpt = 60 // characters of each
)

// listed lists waiting messages with their numbers. What was written elsewhere, as in another chat of the session, is not shown.
func (d desk) listed(call Call, waiting []domain.WaitingMessage) string {
	if len(waiting) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("**What waits**\n")
	for _, w := range waiting[:min(len(waiting), maxListed)] {
		fmt.Fprintf(&b, "\n- %s %s, %s ago", code(strconv.FormatInt(w.Seq, 10)), excerpt(call, w.Message), age(d.host.Now().Sub(w.ReceivedAt)))
	}
	if len(waiting) > maxListed {
		b.WriteString("\n- and more")
	}
	return b.String() + "\n\n`/next NUMBER` has one answered next, `/withdraw NUMBER` takes it back.\n\n"
}

// excerpt shows whose a message is, and how it begins.
func excerpt(call Call, m domain.Message) string {
	text := oneLine(m.Written(), maxExcerpt)
	switch {
	case m.Origin != "":
		return "a turn of mine or of a plugin's"
	case m.Address() != call.Caller.Address:
		return "a message of another chat"
	case text == "" && len(m.Media) > 0:
		return "a file of " + code(oneLine(m.Sender.Name(), maxExcerpt))
	}
	if call.Caller.Kind == chat.Direct {
		return code(text)
	}
	return code(text) + " of " + code(oneLine(m.Sender.Name(), maxExcerpt))
}

func queueing(q domain.Queueing) string {
	limit := "none"
	if q.Cap > 0 {
		limit = strconv.Itoa(q.Cap)
	}
	return fmt.Sprintf("mode=%s, debounce=%s, cap=%s, drop=%s", or(string(q.Mode), string(domain.Followup)), q.Quiet, limit, or(string(q.Drop), string(domain.DropSummarize)))
}
