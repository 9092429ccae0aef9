package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Help for who has written something else.
const (
	remindHelp = "For example: `/remind 17:30 call Bob`, `/remind in 20m tea`, `/remind tomorrow 9:00 call Bob`, `/remind friday 9:00 the report`, " +
		"`/remind 2026-12-24 18:00 presents`, `/remind every day 8:00 water the plants`. I send the text; with `ask:` before it I ask Claude."
	everyHelp = "For example: `/every weekday 9:00 what is new?`, `/every monday,thursday 18:30 plan the evening`, `/every 2h look at the build`, " +
		"`/every month 1 9:00 sum up the last month`, `/every cron \"0 9 * * 1-5\" what is new?`. I ask Claude; with `send:` before the text I only send it."
	scheduleHelp = "`/schedule`: the schedules of this chat. `/schedule 3`: one of them. `/schedule pause 3`, and `resume`, `run`, `delete`, `history`. " +
		"`/schedule own 3`: each run is in a conversation of its own; `/schedule own 3 off`: in that of the chat. New ones: `/remind`, `/every`."
)

// cutText cuts a text to a number of bytes, at the end of a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit] + "…"
}

// plural returns a number with a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// daysOf names days of the week.
func daysOf(set uint8) string {
	switch set {
	case everyDay:
		return "day"
	case workdays:
		return "weekday"
	case weekend:
		return "Saturday and Sunday"
	}
	var names []string
	for i := range 7 {
		if day := (i + 1) % 7; set&(1<<day) != 0 {
			names = append(names, time.Weekday(day).String())
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// spanWords returns a duration in hours and minutes.
func spanWords(d time.Duration) string {
	hours, minutes := int(d/time.Hour), int(d%time.Hour/time.Minute)
	switch {
	case minutes == 0 && hours == 1:
		return "hour"
	case minutes == 0:
		return plural(hours, "hour")
	case hours == 0:
		return plural(minutes, "minute")
	default:
		return plural(hours, "hour") + " " + plural(minutes, "minute")
	}
}

// clockWords returns a time of the day.
func clockWords(t time.Time) string { return fmt.Sprintf("%d:%02d", t.Hour(), t.Minute()) }

// dayWords returns a time as a person says it: "today at 17:30", "on Friday 27 November at 9:00". Both times are in the same zone.
func dayWords(t, now time.Time) string {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	said := "on " + t.Format("Monday 2 January")
	switch days := int(day(t).Sub(day(now)).Hours() / 24); {
	case days == 0:
		said = "today"
	case days == 1:
		said = "tomorrow"
	case days == -1:
		said = "yesterday"
	case t.Year() != now.Year():
		said += t.Format(" 2006")
	}
	return said + " at " + clockWords(t)
}

// short returns the beginning of a text in one line.
func short(text string) string { return cutText(strings.Join(strings.Fields(text), " "), 60) }

// quoted returns a text as a quotation in Markdown, so that no line of it looks like one of the plugin's.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// zoneName names the zone of a time.
func (s *schedules) zoneName(t time.Time) string {
	if s.zone == time.Local {
		return t.Format("MST")
	}
	return s.zone.String()
}

// does says what a schedule does, without its time.
func (s *schedules) does(r row) string {
	if r.Ask {
		return fmt.Sprintf("I ask Claude: %s", short(r.Text))
	}
	return fmt.Sprintf("I send: %s", short(r.Text))
}

// will says what a schedule will do, and when.
func (s *schedules) will(r row) string {
	when := r.Rule.Words
	if when == "" {
		at := r.Rule.Once.In(s.zone)
		when = dayWords(at, s.clock())
		if at.Second() != 0 {
			when += at.Format(":05")
		}
	}
	verb := "I will send"
	if r.Ask {
		verb = "I will ask Claude"
	}
	return fmt.Sprintf("%s (%s) %s:\n%s", upper(when), s.zoneName(s.clock()), verb, quoted(r.Text))
}

// confirm is the reply for a new schedule.
func (s *schedules) confirm(r row) sdk.Reply {
	text := s.will(r)
	if next := s.next(r); r.Rule.Words != "" && !next.IsZero() {
		text += "\n\nFirst " + dayWords(next, s.clock()) + "."
	} else {
		text += "\n"
	}
	return sdk.Reply{Text: text + fmt.Sprintf("\nThis is schedule %d. To delete it: /schedule delete %[1]d", r.ID), Buttons: buttons(r.ID, "Delete")}
}

// buttons returns a row of buttons for a schedule.
func buttons(id int, labels ...string) [][]chat.Button {
	var list []chat.Button
	for _, label := range labels {
		action := strings.ToLower(strings.Fields(label)[0])
		list = append(list, chat.Button{Label: label, Data: fmt.Sprintf("/schedule %s %d", action, id)})
	}
	return [][]chat.Button{list}
}

// state says when a schedule is due next, or why it is not.
func (s *schedules) state(r row) string {
	next := s.next(r)
	switch {
	case r.Run != nil:
		return "running"
	case r.Paused != "":
		return "paused: " + r.Paused
	case r.Asked != nil:
		return fmt.Sprintf("missed %s: run it, or /schedule skip %d", dayWords(r.Asked.Due.In(s.zone), s.clock()), r.ID)
	case next.IsZero():
		return "done"
	default:
		return "next " + dayWords(next, s.clock())
	}
}

// name says when a schedule is due.
func (s *schedules) name(r row) string {
	if r.Rule.Words != "" {
		return r.Rule.Words
	}
	return "once"
}

const (
	// maxRows is how many schedules a list has with buttons to change them.
	maxRows = 3
	// perRow and maxNumbers are how many buttons that show one schedule are in a row and in a list.
	perRow, maxNumbers = 5, 25
)

// list shows schedules, in a chat with buttons for those that the caller may change.
func (s *schedules) list(list []*keyed[row], c chat.Caller) sdk.Reply {
	if len(list) == 0 {
		return sdk.Reply{Text: "There are no schedules. To make one: `/remind 17:30 call Bob` or `/every weekday 9:00 what is new?`"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (times are in %s):\n", upper(plural(len(list), "schedule")), s.zoneName(s.clock()))
	var rows [][]chat.Button
	var numbers []chat.Button
	for _, k := range list {
		r := k.value
		fmt.Fprintf(&b, "\n**%d.** %s, %s: %s", r.ID, upper(s.name(r)), s.does(r), s.state(r))
		if !r.sameChat(c) {
			fmt.Fprintf(&b, " (in %s)", r.chatName())
		}
		b.WriteString("\n")
		numbers = append(numbers, chat.Button{Label: strconv.Itoa(r.ID), Data: fmt.Sprintf("/schedule %d", r.ID)})
		if mayChange(c, r) {
			row := s.actions(r)[0]
			for i := range row {
				row[i].Label += " " + strconv.Itoa(r.ID)
			}
			rows = append(rows, row)
		}
	}
	fmt.Fprintf(&b, "\nTo see one: /schedule %d. To change it: /schedule pause %[1]d, resume, run, delete or history.", list[0].value.ID)
	if len(list) > maxRows {
		rows = nil
		for start := 0; start < min(len(numbers), maxNumbers); start += perRow {
			rows = append(rows, numbers[start:min(start+perRow, len(numbers), maxNumbers)])
		}
	}
	return sdk.Reply{Text: b.String(), Buttons: rows}
}

// actions returns the buttons of a schedule.
func (s *schedules) actions(r row) [][]chat.Button {
	switch {
	case r.Paused != "":
		return buttons(r.ID, "Resume", "Run now", "Delete")
	case r.Asked != nil:
		return buttons(r.ID, "Run now", "Skip", "Delete")
	default:
		return buttons(r.ID, "Pause", "Run now", "Delete")
	}
}

// chatName names the chat of a schedule as session keys do.
func (r row) chatName() string {
	name := r.To.Channel + ":"
	if r.Kind != chat.Direct {
		name += "group:"
	}
	name += string(r.To.Chat)
	if r.To.Thread != "" {
		name += ":thread:" + string(r.To.Thread)
	}
	return name
}

func sentText(id int) string { return fmt.Sprintf("Schedule %d has sent its text.", id) }

func conversationWords(r row) string {
	if r.Own {
		return fmt.Sprintf("Each run of schedule %d is in a conversation of its own. To change that: /schedule own %[1]d off", r.ID)
	}
	return fmt.Sprintf("Each run of schedule %d is in the conversation of the chat. To change that: /schedule own %[1]d", r.ID)
}

// show shows one schedule.
func (s *schedules) show(r row, change bool) sdk.Reply {
	lines := []string{fmt.Sprintf("**Schedule %d**: %s", r.ID, s.will(r)), "", upper(s.state(r)) + "."}
	if r.Ran+r.Missed > 0 {
		lines = append(lines, fmt.Sprintf("%s so far, %d missed. To see the last ones: /schedule history %d", plural(r.Ran, "run"), r.Missed, r.ID))
	}
	lines = append(lines, fmt.Sprintf("Made by %s %s.", r.Person.nameOr(), dayWords(r.Created.In(s.zone), s.clock())))
	if r.Ask {
		lines = append(lines, conversationWords(r))
	}
	reply := sdk.Reply{Text: strings.Join(lines, "\n")}
	if change {
		reply.Buttons = s.actions(r)
	}
	return reply
}

func (p person) nameOr() string {
	if p.Name == "" {
		return "somebody"
	}
	return p.Name
}

// history shows the last runs.
func (s *schedules) history(r row) string {
	if len(r.History) == 0 {
		return fmt.Sprintf("Schedule %d has not run yet.", r.ID)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The last runs of schedule %d:\n", r.ID)
	for _, e := range r.History {
		fmt.Fprintf(&b, "- %s\n", s.line(e))
	}
	return b.String()
}

// line says how a run ended, or that a time was missed.
func (s *schedules) line(e entry) string {
	said := fmt.Sprintf("%s: %s", e.Due.In(s.zone).Format("Mon 2006-01-02 15:04"), e.Outcome)
	if e.Missed > 1 {
		said = fmt.Sprintf("%s: %d times missed", e.Due.In(s.zone).Format("Mon 2006-01-02 15:04"), e.Missed)
	}
	if late := e.At.Sub(e.Due); e.Missed == 0 && late > grace {
		said += " (late, " + dayWords(e.At.In(s.zone), s.clock()) + ")"
	}
	if e.Detail != "" {
		said += ", " + e.Detail
	}
	return said
}

// reminder is the message that a schedule sends.
func (r *row) reminder(now time.Time) string {
	text := "⏰ " + r.Text
	if r.Run.Late {
		text += fmt.Sprintf("\n\n(This was due %s. I was not running then.)", dayWords(r.Run.Due.In(now.Location()), now))
	}
	return text
}

// question asks whether a missed turn is made up for.
func (r *row) question(now time.Time) sdk.Post {
	due := dayWords(r.Asked.Due.In(now.Location()), now)
	text := fmt.Sprintf("I was not running %s, when I should have asked Claude:\n", due)
	if r.Asked.Count > 1 {
		text = fmt.Sprintf("I was not running at the last %d times of this schedule, the latest %s. I should have asked Claude:\n", r.Asked.Count, due)
	}
	text += quoted(short(r.Text)) + "\n"
	text += fmt.Sprintf("\nTo run it now, once: /schedule run %d. Or: /schedule skip %[1]d", r.ID)
	return sdk.Post{Text: text, Buttons: [][]chat.Button{{
		{Label: "Run now", Data: fmt.Sprintf("/schedule run %d %d", r.ID, r.Asked.Due.Unix())},
		{Label: "Skip", Data: fmt.Sprintf("/schedule skip %d %d", r.ID, r.Asked.Due.Unix())},
	}}}
}

// pausedNotice says that a schedule is paused because it failed.
func (r *row) pausedNotice() sdk.Post {
	why := ""
	if n := len(r.History); n > 0 && r.History[n-1].Detail != "" {
		why = "\nThe last error: " + r.History[n-1].Detail
	}
	return sdk.Post{
		Text: fmt.Sprintf("Schedule %d (%s) is paused, because %s.%s\nTo go on: /schedule resume %[1]d. To delete it: /schedule delete %[1]d",
			r.ID, short(r.Text), r.Paused, why),
		Buttons: buttons(r.ID, "Resume", "Delete"),
	}
}
