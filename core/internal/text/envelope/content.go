package envelope

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Content is what a turn's prompt contains.
type Content struct {
	// Messages are answered in the turn, in order. Without one the prompt is from the host and has no text. Several are a
	// burst of one sender in one chat, which is read as one message, unless Collected.
	Messages []Message
	// Collected is set if the messages have waited for the turn. Each is shown with its sender; those of one Burst
	// together.
	Collected bool
	Dropped   int      // dropped waiting messages
	Overflow  []string // the texts of those that get a line, in order
	Events    []Event
	// Hints are about the previous turn, each a line of the host that begins with "Note: ".
	Hints     []string
	Context   []string // from hooks
	Starter   string   // the start of the thread; empty: already known, or no thread
	History   []Entry  // the chat's messages since the last turn, in order
	Untrusted []string // the network's information about chat and sender, a line each
	// Outgoing is the folder for files to send with answers, relative to the workspace; empty: not mentioned.
	Outgoing string
}

// Event is something that happened to the session.
type Event struct {
	At   time.Time
	Text string
}

// Entry is a message of a chat that was not for the agent.
type Entry struct {
	ID     chat.MessageID // the network's; empty: it has none
	At     time.Time
	Sender string // a name
	Text   string
}

// Compose returns the prompt, with times in the zone. It begins with a line of the host, is valid UTF-8, uses only "\n" as
// line break and is at most about a megabyte.
func Compose(c Content, zone *time.Location) string {
	if len(c.Messages) == 0 {
		c.Messages = []Message{{Host: true}}
	}
	blocks := []string{c.outgoing(), c.events(zone), c.hints()}
	for _, text := range c.Context {
		blocks = append(blocks, block(contextOpen, cut(Neutralise(text), share(maxContext, maxContexts, len(c.Context))), contextClose))
	}
	if text := cut(Neutralise(c.Starter), maxQuote); text != "" {
		blocks = append(blocks, block(threadOpen, text, threadClose))
	}
	current := c.current(zone)
	if history := c.history(zone); history != "" {
		blocks = append(blocks, history)
		current = currentMark + "\n" + current
	}
	return cut(paragraphs(append(blocks, current, c.untrusted())), maxPrompt)
}

// outgoing returns the line with the folder for files to send.
func (c Content) outgoing() string {
	if folder := part(c.Outgoing); folder != "" {
		return outgoingMark + " " + folder + "]"
	}
	return ""
}

// events returns the session's events, a line each.
func (c Content) events(zone *time.Location) string {
	var lines []string
	for _, e := range newest(c.Events) {
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

func (c Content) hints() string {
	var lines []string
	for _, hint := range newest(c.Hints) {
		if text := line(strings.TrimPrefix(hint, hintMark), maxNote); text != "" {
			lines = append(lines, hintMark+" "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// history returns the chat's messages, the newest if there are too many. It is from the chat of the first message.
func (c Content) history(zone *time.Location) string {
	first := c.Messages[0]
	group := ""
	if first.inGroup() {
		group = first.group()
	}
	var lines []string
	space := maxHistory
	for _, e := range slices.Backward(c.History) {
		text := cut(Neutralise(e.Text), maxEntry)
		if text == "" {
			continue
		}
		entry := fmt.Sprintf("[%s] %s: %s",
			join(label(first.Channel), group, minute(e.At, zone), ids([]Message{{ID: e.ID}})), orUnknown(part(e.Sender)), text)
		if space -= len(entry); space < 0 {
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
func (c Content) current(zone *time.Location) string {
	shares := shares{
		text:  share(maxBody, maxBodies, len(c.Messages)),
		quote: share(maxQuote, maxQuotes, len(c.Messages)),
	}
	transcripts, pages, besides := 0, 0, 0
	for _, m := range c.Messages {
		transcripts += len(m.Media) + len(m.Quoted)
		pages += len(m.Pages)
		if m.Beside != "" {
			besides++
		}
	}
	shares.beside = share(maxBeside, maxBesides, besides)
	shares.transcript, shares.page = share(maxSpoken, maxSpokens, transcripts), share(maxPage, maxPages, pages)
	if c.Collected {
		return c.collected(zone, shares)
	}
	first := c.Messages[0]
	lines := contents(c.Messages, zone, shares)
	lines[0] = join(first.header(zone, ids(c.Messages)), lines[0])
	return paragraphs([]string{c.overflow(), joined("\n", append(lines, first.sender()))})
}

func (c Content) collected(zone *time.Location, shares shares) string {
	blocks := []string{queuedMark, c.overflow()}
	for i, burst := range c.bursts() {
		heading := fmt.Sprintf("%s%d", itemMark, i+1)
		if name := part(burst[0].Sender.Name()); name != "" {
			heading += " (from " + name + ")"
		}
		heading = join(heading, ids(burst))
		blocks = append(blocks, joined("\n", append([]string{"---", heading}, contents(burst, zone, shares)...)))
	}
	return paragraphs(blocks)
}

// bursts groups the messages by burst, in the order of each burst's first message.
func (c Content) bursts() [][]Message {
	var list [][]Message
	index := map[int64]int{}
	for _, m := range c.Messages {
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

// contents returns the content of a burst's messages. A forwarded message among several is put in a block, so that its words
// are not taken for the sender's. The first element is empty if the first message does not begin with a text.
func contents(burst []Message, zone *time.Location, shares shares) []string {
	var lines []string
	for i, m := range burst {
		if i > 0 {
			m.Late = 0 // the first one's age is enough for all
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

// overflow returns the lines about dropped messages.
func (c Content) overflow() string {
	dropped := max(c.Dropped, len(c.Overflow))
	if dropped == 0 {
		return ""
	}
	lines := []string{fmt.Sprintf("%s Dropped %d message(s) due to cap.", overflowMark, dropped)}
	for _, text := range newest(c.Overflow) {
		if text = line(text, maxSummary); text != "" {
			lines = append(lines, "- "+text)
		}
	}
	if len(lines) > 1 {
		lines[0] += "\nSummary:"
	}
	return strings.Join(lines, "\n")
}

func (c Content) untrusted() string {
	lines := []string{untrustedMark}
	for _, text := range newest(c.Untrusted) {
		if text = Neutralise(line(text, maxNote)); text != "" {
			lines = append(lines, text)
		}
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n")
}
