package envelope

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Turn is all that the agent reads as a turn begins.
type Turn struct {
	// Messages are answered in the turn, in order. Without one the host speaks and says nothing. Several are a burst of one
	// sender in one chat, which is read as one message, unless Collected.
	Messages []Message
	// Collected says that the messages waited for the turn. Each is told with its sender; those of one Burst together.
	Collected bool
	Dropped   int      // messages that waited and were dropped
	Overflow  []string // the texts of those that are told in a line, in order
	Events    []Event
	// Hints are what the agent must know of the turn before, each a line of the host that begins "Note: ".
	Hints     []string
	Context   []string // what hooks tell
	Starter   string   // what the thread began with; empty: that is known, or there is no thread
	History   []Entry  // what the chat said since the last turn, in order
	Untrusted []string // what the network tells of the chat or the sender, a line each
	// Outgoing is the folder whose files are sent with answers, relative to the workspace; empty: it is not told.
	Outgoing string
}

// Event is something that happened to the session.
type Event struct {
	At   time.Time
	Text string
}

// Entry is a message of a chat that was not for the agent.
type Entry struct {
	At     time.Time
	Sender string // a name
	Text   string
}

// What the agent must know of the turn before.
const (
	HintStopped = "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification."
	HintCutOff  = "Note: The previous agent run was cut off by a crash. What it did last may be done in part; look before you repeat it."
)

// Compose returns what the agent reads, with times in the zone. It begins with a line of the host, is valid UTF-8, has no
// line break but "\n" and is about a megabyte at most.
func Compose(t Turn, zone *time.Location) string {
	if len(t.Messages) == 0 {
		t.Messages = []Message{{Host: true}}
	}
	blocks := []string{t.outgoing(), t.events(zone), t.hints()}
	for _, text := range t.Context {
		blocks = append(blocks, block(contextOpen, cut(Neutralise(text), share(maxContext, maxContexts, len(t.Context))), contextClose))
	}
	if text := cut(Neutralise(t.Starter), maxQuote); text != "" {
		blocks = append(blocks, block(threadOpen, text, threadClose))
	}
	current := t.current(zone)
	if history := t.history(zone); history != "" {
		blocks = append(blocks, history)
		current = currentMark + "\n" + current
	}
	return cut(paragraphs(append(blocks, current, t.untrusted())), maxPrompt)
}

// outgoing returns the line that tells where the agent puts files that it sends.
func (t Turn) outgoing() string {
	if folder := part(t.Outgoing); folder != "" {
		return outgoingMark + " " + folder + "]"
	}
	return ""
}

// events returns what happened to the session, a line each.
func (t Turn) events(zone *time.Location) string {
	var lines []string
	for _, e := range newest(t.Events) {
		at := ""
		if !e.At.IsZero() {
			at = "[" + e.At.In(zone).Format("2006-01-02 15:04:05 MST") + "]"
		}
		if text := line(e.Text, maxNote); text != "" {
			lines = append(lines, join(eventMark, at, text))
		}
	}
	return strings.Join(lines, "\n")
}

func (t Turn) hints() string {
	var lines []string
	for _, hint := range newest(t.Hints) {
		if text := line(strings.TrimPrefix(hint, hintMark), maxNote); text != "" {
			lines = append(lines, hintMark+" "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// history returns what the chat said, the newest of it where it is too much. It is of the chat of the first message.
func (t Turn) history(zone *time.Location) string {
	first := t.Messages[0]
	group := ""
	if first.inGroup() {
		group = first.group()
	}
	var lines []string
	room := maxHistory
	for _, e := range slices.Backward(t.History) {
		text := cut(Neutralise(e.Text), maxEntry)
		if text == "" {
			continue
		}
		entry := fmt.Sprintf("[%s] %s: %s", join(label(first.Channel), group, minute(e.At, zone)), orUnknown(part(e.Sender)), text)
		if room -= len(entry); room < 0 {
			break
		}
		lines = append(lines, entry)
	}
	slices.Reverse(lines)
	if len(lines) == 0 {
		return ""
	}
	return historyMark + "\n" + strings.Join(lines, "\n")
}

// current returns the messages that the agent answers.
func (t Turn) current(zone *time.Location) string {
	shares := shares{
		text:  share(maxBody, maxBodies, len(t.Messages)),
		quote: share(maxQuote, maxQuotes, len(t.Messages)),
	}
	transcripts, pages := 0, 0
	for _, m := range t.Messages {
		transcripts += len(m.Media) + len(m.Quoted)
		pages += len(m.Pages)
	}
	shares.transcript, shares.page = share(maxSpoken, maxSpokens, transcripts), share(maxPage, maxPages, pages)
	if t.Collected {
		return t.collected(zone, shares)
	}
	first := t.Messages[0]
	lines := told(t.Messages, zone, shares)
	lines[0] = join(first.header(zone), lines[0])
	return paragraphs([]string{t.overflow(), joined("\n", append(lines, first.sender()))})
}

func (t Turn) collected(zone *time.Location, shares shares) string {
	blocks := []string{queuedMark, t.overflow()}
	for i, burst := range t.bursts() {
		heading := fmt.Sprintf("%s%d", itemMark, i+1)
		if name := part(burst[0].Sender.Name()); name != "" {
			heading += " (from " + name + ")"
		}
		blocks = append(blocks, joined("\n", append([]string{"---", heading}, told(burst, zone, shares)...)))
	}
	return paragraphs(blocks)
}

// bursts returns the messages with those of one burst together, in the order of each one's first.
func (t Turn) bursts() [][]Message {
	var list [][]Message
	index := map[int64]int{}
	for _, m := range t.Messages {
		at, known := index[m.Burst]
		if known && m.Burst != 0 {
			list[at] = append(list[at], m)
			continue
		}
		index[m.Burst] = len(list)
		list = append(list, []Message{m})
	}
	return list
}

// told returns what is told of a burst's messages. What is forwarded in a burst of several stands in a block, so that nobody's
// words are taken for somebody else's. The first element is empty where the first message does not begin with a text.
func told(burst []Message, zone *time.Location, shares shares) []string {
	var lines []string
	for i, m := range burst {
		if i > 0 {
			m.Late = 0 // That the first one is late says it of all.
		}
		var forward []string
		if m.Forwarded != nil && len(burst) > 1 {
			forward, m.Forwarded = []string{m.forward(zone)}, nil
		}
		said, about := m.content(zone, shares)
		if forward != nil {
			said = slices.Concat(forward, said, []string{forwardClose})
		}
		if i == 0 && (len(said) == 0 || forward != nil) {
			said = append([]string{""}, said...)
		}
		lines = slices.Concat(lines, said, about)
	}
	return lines
}

// overflow returns what the agent is told of messages that were dropped.
func (t Turn) overflow() string {
	dropped := max(t.Dropped, len(t.Overflow))
	if dropped == 0 {
		return ""
	}
	lines := []string{fmt.Sprintf("%s Dropped %d message(s) due to cap.", overflowMark, dropped)}
	for _, text := range newest(t.Overflow) {
		if text = line(text, maxSummary); text != "" {
			lines = append(lines, "- "+text)
		}
	}
	if len(lines) > 1 {
		lines[0] += "\nSummary:"
	}
	return strings.Join(lines, "\n")
}

func (t Turn) untrusted() string {
	lines := []string{untrustedMark}
	for _, text := range newest(t.Untrusted) {
		if text = Neutralise(line(text, maxNote)); text != "" {
			lines = append(lines, text)
		}
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n")
}
