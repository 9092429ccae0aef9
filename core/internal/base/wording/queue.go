package wording

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// The bounds of what /queue lists.
const (
	MaxWaiting = 20
	maxExcerpt = 60 // characters of each message
)

// Waiting is a message that waits.
type Waiting struct {
	Number    int64
	Since     time.Duration
	Automatic bool   // a turn of the host or of a plugin
	Elsewhere bool   // it was written in another chat, and is not shown
	From      string // the writer; empty if obvious
	Text      string
	File      bool // it has files
}

// Queue answers /queue: the waiting messages, at most [MaxWaiting], and the settings.
func Queue(waiting []Waiting, q domain.Queueing) string {
	var b strings.Builder
	if len(waiting) > 0 {
		b.WriteString("**What waits**\n")
		for _, w := range waiting[:min(len(waiting), MaxWaiting)] {
			fmt.Fprintf(&b, "\n- %s %s, %s ago", Code(strconv.FormatInt(w.Number, 10)), w.excerpt(), age(w.Since))
		}
		if len(waiting) > MaxWaiting {
			b.WriteString("\n- and more")
		}
		b.WriteString("\n\n`/next NUMBER` answers one next, `/withdraw NUMBER` withdraws it.\n\n")
	}
	fmt.Fprintf(&b, "Current queue settings: %s.\n\n%s", queueing(q), QueueOptions())
	return b.String()
}

// excerpt shows the writer and the beginning of a message.
func (w Waiting) excerpt() string {
	text := OneLine(w.Text, maxExcerpt)
	switch {
	case w.Automatic:
		return "a turn that I or a plugin began"
	case w.Elsewhere:
		return "a message from another chat"
	case text == "" && w.File:
		text = "a file"
	default:
		text = Code(text)
	}
	if w.From == "" {
		return text
	}
	return text + " from " + Code(OneLine(w.From, maxExcerpt))
}
