package command

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

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

// option parses a word such as "cap:20".
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

// queue shows what waits in the session, and the queue's settings, or changes these.
func (d hostCommands) queue(ctx context.Context, call Call) (string, error) {
	if call.Args == "" {
		waiting, err := d.store.WaitingMessages(ctx, call.Caller.Session, wording.MaxWaiting+1)
		if err != nil {
			return "", err
		}
		return wording.Queue(d.listed(call, waiting), d.effective(call).Queue), nil
	}
	words := strings.Fields(call.Args)
	r := readQueue(Models{}, words)
	if r.set == nil || r.words < len(words) {
		return wording.UnknownArgument("queue", call.Args, wording.QueueOptions()), nil
	}
	session, err := d.store.Configure(ctx, call.Caller.Session, r.set)
	if err != nil {
		return "", err
	}
	return wording.QueueChosen(d.host.Conversations.Session(call.Caller, session).Queue, r.lasting), nil
}

// listed returns waiting messages with their numbers. The text of a message from another chat of the session is not
// shown.
func (d hostCommands) listed(call Call, waiting []domain.WaitingMessage) []wording.Waiting {
	list := make([]wording.Waiting, len(waiting))
	for i, w := range waiting {
		m := w.Message
		list[i] = wording.Waiting{
			Number: w.Seq, Since: d.host.Now().Sub(w.ReceivedAt), Automatic: m.Origin != "", Elsewhere: m.Address() != call.Caller.Address,
			Text: m.Written(), File: len(m.Media) > 0,
		}
		if call.Caller.Kind != chat.Direct || m.Written() == "" {
			list[i].From = m.Sender.Name()
		}
	}
	return list
}
