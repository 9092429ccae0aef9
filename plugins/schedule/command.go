package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// refusal is an error that a person reads as it is.
type refusal string

func (r refusal) Error() string { return string(r) }

// ReplyCommand answers /remind, /every and /schedule.
func (s *schedules) ReplyCommand(ctx context.Context, call sdk.CommandCall) (reply sdk.Reply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch call.Name {
	case "remind", "every":
		reply, err = s.create(ctx, call)
	default:
		reply, err = s.command(ctx, call)
	}
	if refused, ok := errors.AsType[refusal](err); ok {
		return sdk.Reply{Text: string(refused)}, nil
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return sdk.Reply{Text: "This host is too old for schedules: the operator must update it."}, nil
	}
	return reply, err
}

// create answers /remind, which sends a text, and /every, which asks the agent; "ask:" and "send:" before the text say it otherwise.
func (s *schedules) create(ctx context.Context, call sdk.CommandCall) (sdk.Reply, error) {
	text, help := call.Args, remindHelp
	said := &words{text}
	me := false
	switch {
	case call.Name == "every":
		text, help = "every "+text, everyHelp
	case said.skip("me"):
		text, me = said.rest, true
	}
	if strings.TrimSpace(call.Args) == "" {
		return sdk.Reply{}, refusal(help)
	}
	now, err := s.first(ctx, call)
	if err != nil {
		return sdk.Reply{}, err
	}
	when, text, err := parseWhen(text, now, s.zone)
	if err != nil {
		return sdk.Reply{}, refusal(upper(err.Error()) + ".\n" + help)
	}
	ask := call.Name == "every"
	if me {
		text = strings.TrimPrefix(text, "to ")
	}
	for prefix, asks := range map[string]bool{"ask:": true, "send:": false} {
		if len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
			text, ask = strings.TrimSpace(text[len(prefix):]), asks
			break
		}
	}
	switch {
	case text == "" && ask:
		return sdk.Reply{}, refusal("What should I ask Claude then? Write it after the time.\n" + help)
	case text == "":
		return sdk.Reply{}, refusal("What should I send then? Write it after the time.\n" + help)
	}
	r := row{Rule: when, Ask: ask, Text: text, Created: now, After: now}
	r.belongsTo(call.Caller)
	if err := s.admit(ctx, r); err != nil {
		return sdk.Reply{}, err
	}
	if r.ID, err = number(ctx, s.env.State, call.ID, now); err != nil {
		return sdk.Reply{}, err
	}
	if k := s.all[r.ID]; k != nil {
		return s.confirm(k.value), nil // the call is repeated
	}
	k, err := s.add(ctx, r)
	if err != nil {
		return sdk.Reply{}, err
	}
	return s.confirm(k.value), nil
}

// first returns when a call was made first. So a call that is repeated makes a schedule with the same due times, whose runs have the same
// keys, even if the first one has ended and was deleted.
func (s *schedules) first(ctx context.Context, call sdk.CommandCall) (time.Time, error) {
	c, _, err := readCounter(ctx, s.env.State)
	if known, ok := c.counted(call.ID); ok {
		return known.At.In(s.zone), err
	}
	return s.clock(), err
}

// belongsTo makes a schedule one of the caller's chat and person. In a group the words of a person who is not an owner run as a
// stranger's would, because a turn there has an owner's place in the queue.
func (r *row) belongsTo(c chat.Caller) {
	r.To, r.Kind = c.Address, c.Kind
	r.Person = person{Channel: c.Address.Channel, ID: c.Sender.ID, Name: cutText(c.Sender.Name(), 64)}
	r.Untrusted = c.Authority != chat.Owner && c.Kind != chat.Direct
}

// admit refuses a schedule that is one too many, too long, or in a chat that the plugin may not write to.
func (s *schedules) admit(ctx context.Context, r row) error {
	if len(r.Text) > maxText {
		return refusal(fmt.Sprintf("The text has %d bytes; at most %d fit.", len(r.Text), maxText))
	}
	inChat := len(s.sorted(func(o row) bool { return o.To == r.To }))
	ofPerson := len(s.sorted(func(o row) bool { return o.Person.Channel == r.Person.Channel && o.Person.ID == r.Person.ID }))
	switch {
	case inChat >= maxPerChat:
		return refusal(fmt.Sprintf("This chat has %d schedules already, which is the most. Delete one: /schedule shows them.", inChat))
	case ofPerson >= maxPerPerson:
		return refusal(fmt.Sprintf("You have %d schedules already, which is the most. Delete one: /schedule shows those of a chat.", ofPerson))
	case len(s.all) >= maxSchedules:
		return refusal(fmt.Sprintf("There are %d schedules already in all chats, which is the most.", len(s.all)))
	}
	if _, err := s.env.History.Read(ctx, r.To, r.Kind, 1, 0); errors.Is(err, sdk.ErrNotGranted) {
		return refusal("I may not write to this chat at set times, so nothing was made. " + upper(grantNeeded(r.To.Channel)) + ".")
	} else if err != nil && !errors.Is(err, sdk.ErrNotFound) {
		return err
	}
	return nil
}

// grantNeeded says what lets the plugin write to a channel.
func grantNeeded(channel string) string {
	return fmt.Sprintf("the operator must add this line to the block of this plugin in the config: `grants = [%q]`", channel)
}

// command answers /schedule.
func (s *schedules) command(ctx context.Context, call sdk.CommandCall) (sdk.Reply, error) {
	args := strings.Fields(strings.ToLower(call.Args))
	inChat := func(r row) bool { return r.sameChat(call.Caller) }
	switch {
	case len(args) == 0 || args[0] == "list":
		return s.list(s.sorted(inChat), call.Caller), nil
	case args[0] == "all":
		if call.Caller.Authority != chat.Owner || call.Caller.Kind != chat.Direct {
			return sdk.Reply{}, refusal("Only owners see the schedules of all chats, and only in a direct chat.")
		}
		return s.list(s.sorted(func(row) bool { return true }), call.Caller), nil
	case args[0] == "help":
		return sdk.Reply{Text: scheduleHelp}, nil
	}
	action := args[0]
	if n, err := strconv.Atoi(strings.TrimPrefix(action, "#")); err == nil {
		args = []string{"show", strconv.Itoa(n)}
		action = "show"
	}
	if !slices.Contains([]string{"show", "pause", "resume", "run", "skip", "delete", "history", "own", "agree", "decline"}, action) {
		return sdk.Reply{}, refusal(fmt.Sprintf("I do not know /schedule %s.\n%s", cutText(action, 40), scheduleHelp))
	}
	if len(args) < 2 {
		return sdk.Reply{}, refusal(fmt.Sprintf("Which one? Write its number, such as /schedule %s 3. /schedule shows them.", action))
	}
	id, err := strconv.Atoi(strings.TrimPrefix(args[1], "#"))
	if err != nil {
		return sdk.Reply{}, refusal(fmt.Sprintf("%s is no number of a schedule. /schedule shows them.", cutText(args[1], 40)))
	}
	if action == "agree" || action == "decline" {
		return s.answer(ctx, call.Caller, id, action == "agree")
	}
	k := s.all[id]
	if k == nil || !sees(call.Caller, k.value) {
		return sdk.Reply{}, refusal(fmt.Sprintf("There is no schedule %d here. /schedule shows those of this chat.", id))
	}
	if action == "show" {
		return s.show(k.value, mayChange(call.Caller, k.value)), nil
	}
	if action == "history" {
		return sdk.Reply{Text: s.history(k.value)}, nil
	}
	if !mayChange(call.Caller, k.value) {
		return sdk.Reply{}, refusal(fmt.Sprintf("Schedule %d is %s's. Only they and owners may change it.", id, k.value.Person.Name))
	}
	reply, err := s.change(ctx, k, call.ID, action, args[2:])
	if reply.Text == sentText(id) && k.value.sameChat(call.Caller) {
		reply.Text = "" // the text is there
	}
	return reply, err
}

// sees reports whether a caller may see a schedule: who is in its chat, and owners in their direct chats.
func sees(c chat.Caller, r row) bool {
	return r.sameChat(c) || c.Authority == chat.Owner && c.Kind == chat.Direct
}

// mayChange reports whether a caller may change a schedule that they see: who has made it, and owners.
func mayChange(c chat.Caller, r row) bool {
	return c.Authority == chat.Owner ||
		r.Person.ID != "" && r.Person.Channel == c.Address.Channel && slices.Contains(c.Sender.IDs(), r.Person.ID)
}

// change does what a person wants with a schedule. The lock is held.
func (s *schedules) change(ctx context.Context, k *keyed[row], call, action string, more []string) (sdk.Reply, error) {
	id := k.value.ID
	switch action {
	case "pause":
		if k.value.Paused == "" {
			if err := s.rows.change(ctx, k, func(r *row) { r.Paused = byPerson }); err != nil {
				return sdk.Reply{}, err
			}
		}
		// A wake-up that stays does nothing.
		return sdk.Reply{Text: fmt.Sprintf("Schedule %d is paused. To go on: /schedule resume %[1]d", id), Buttons: buttons(id, "Resume")},
			s.env.WakeUps.Cancel(ctx, wakeKey(id))
	case "resume":
		return s.resume(ctx, k)
	case "run":
		return s.runNow(ctx, k, call, more)
	case "skip":
		return s.skip(ctx, k, more)
	case "own":
		own := !slices.Contains(more, "off")
		if !k.value.Ask {
			return sdk.Reply{}, refusal(fmt.Sprintf("Schedule %d sends a text, and has no conversation.", id))
		}
		if err := s.rows.change(ctx, k, func(r *row) { r.Own = own }); err != nil {
			return sdk.Reply{}, err
		}
		return sdk.Reply{Text: conversationWords(k.value)}, nil
	default:
		if err := s.remove(ctx, k); err != nil {
			return sdk.Reply{}, err
		}
		return sdk.Reply{Text: fmt.Sprintf("Deleted: schedule %d, %s.", id, s.does(k.value))}, nil
	}
}

// resume has a schedule go on from now. The lock is held.
func (s *schedules) resume(ctx context.Context, k *keyed[row]) (sdk.Reply, error) {
	now := s.clock()
	due, err := k.value.Rule.times(s.zone)
	if err != nil {
		return sdk.Reply{}, err
	}
	after := k.value.After
	if k.value.Paused != "" && now.After(after) {
		after = now
	}
	next := due.after(after)
	if next.IsZero() {
		return sdk.Reply{}, refusal(fmt.Sprintf("The time of schedule %d has passed. To run it now: /schedule run %[1]d. To delete it: /schedule delete %[1]d", k.value.ID))
	}
	if k.value.Paused != "" {
		if err := s.rows.change(ctx, k, func(r *row) { r.Paused, r.Failures, r.After, r.Tell = "", 0, after, "" }); err != nil {
			return sdk.Reply{}, err
		}
	}
	if err := s.env.WakeUps.WakeAt(ctx, wakeKey(k.value.ID), next); err != nil {
		signal(s.broken)
		return sdk.Reply{}, err
	}
	return sdk.Reply{Text: fmt.Sprintf("Schedule %d goes on, %s.", k.value.ID, dayWords(next.In(s.zone), now))}, nil
}

// runNow runs a schedule. With a due time it is the answer to the question about it. The lock is held.
func (s *schedules) runNow(ctx context.Context, k *keyed[row], call string, more []string) (sdk.Reply, error) {
	now := s.clock()
	if k.value.Run != nil {
		return sdk.Reply{}, refusal(fmt.Sprintf("Schedule %d is running already.", k.value.ID))
	}
	if len(more) > 0 && !k.value.Asked.is(more) {
		return sdk.Reply{}, refusal("This was answered already.")
	}
	this := strconv.FormatInt(s.now().UnixNano(), 10)
	if call != "" {
		this = digest(call)
	}
	err := s.rows.change(ctx, k, func(r *row) {
		switch {
		case r.Run != nil:
		case r.Asked != nil:
			r.miss(r.Asked.Due, now, r.Asked.Count-1, "one run is for all")
			r.begin(r.Asked.Due, now, true)
			r.Asked = nil
		default:
			r.Run = &run{Key: fmt.Sprintf("schedule:%d:now:%s", r.ID, this), Due: now, At: now}
		}
	})
	if err != nil {
		return sdk.Reply{}, err
	}
	if err := s.carryOut(ctx, k); err != nil {
		signal(s.broken)
		return sdk.Reply{}, err
	}
	id, last := k.value.ID, entry{}
	if n := len(k.value.History); n > 0 {
		last = k.value.History[n-1]
	}
	switch {
	case k.value.Run == nil && last.Outcome == failed:
		return sdk.Reply{}, refusal(fmt.Sprintf("Schedule %d has failed: %s", id, last.Detail))
	case k.value.Ask:
		return sdk.Reply{Text: fmt.Sprintf("Schedule %d runs now.", id)}, nil
	default:
		return sdk.Reply{Text: sentText(id)}, nil
	}
}

// is reports whether a question is open, and is the one about the due time that a button has, if it has one.
func (a *asked) is(more []string) bool {
	return a != nil && (len(more) == 0 || more[0] == strconv.FormatInt(a.Due.Unix(), 10))
}

// skip answers the question about missed times with no. The lock is held.
func (s *schedules) skip(ctx context.Context, k *keyed[row], more []string) (sdk.Reply, error) {
	if !k.value.Asked.is(more) {
		return sdk.Reply{}, refusal("There is nothing to skip: this was answered already, or the schedule has run since.")
	}
	now := s.clock()
	if err := s.rows.change(ctx, k, func(r *row) {
		if r.Asked != nil {
			r.miss(r.Asked.Due, now, r.Asked.Count, "a person has skipped it")
			r.Asked = nil
		}
	}); err != nil {
		return sdk.Reply{}, err
	}
	text := fmt.Sprintf("Skipped: schedule %d, %s.", k.value.ID, s.does(k.value))
	if next := s.next(k.value); !next.IsZero() {
		text += " It is due again " + dayWords(next, now) + "."
	}
	return sdk.Reply{Text: text}, s.drop(ctx, k)
}

// answer makes a proposal of the agent a schedule of the person who agrees, or deletes it. The lock is held.
func (s *schedules) answer(ctx context.Context, c chat.Caller, id int, agree bool) (sdk.Reply, error) {
	k := s.proposed[id]
	if k == nil || k.value.To != c.Address || s.clock().Sub(k.value.Made) > proposalLife {
		return sdk.Reply{}, refusal(fmt.Sprintf("There is no proposal %d here: it was answered already, or is older than a day.", id))
	}
	if !agree {
		return sdk.Reply{Text: fmt.Sprintf("Dropped: proposal %d.", id)}, s.withdraw(ctx, k)
	}
	now := s.clock()
	r := k.value.row
	r.Created, r.After = now, now
	r.belongsTo(c)
	if r.Rule.Every > 0 {
		r.Rule.Start = now
	}
	if err := r.Rule.check(now, s.zone); err != nil {
		return sdk.Reply{}, refusal("The time of this proposal has passed. Ask Claude for another one.")
	}
	if err := s.admit(ctx, r); err != nil {
		return sdk.Reply{}, err
	}
	// The schedule has the proposal's number: so a crash between the two writes leaves no second one.
	added, err := s.add(ctx, r)
	if err != nil {
		return sdk.Reply{}, err
	}
	if err := s.withdraw(ctx, k); err != nil {
		signal(s.broken)
	}
	return s.confirm(added.value), nil
}

// upper returns a text with its first letter in upper case.
func upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
