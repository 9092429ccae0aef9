// Package stream sends something of a turn while it goes on: what is written of the answer, and what the agent does.
//
// What stays in the chat is sent through the outbox, under the run's fence: blocks of the answer, the tools that were used.
// How the answer grows from there on is shown by a preview, which is a message that is edited, or by a draft of the
// network's own. What was not sent when the turn ends is sent with its answer.
package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Mode is how an answer is shown while it is written.
type Mode int

// The modes.
const (
	Off     Mode = iota // not at all
	Blocks              // in several messages
	Preview             // in a message that is edited
	Draft               // in the network's own draft
)

// Choose returns the mode for what the config says, off, block or preview, and for what the channel can in a chat.
func Choose(configured string, limits chat.Limits, canEdit, canDraft bool) Mode {
	switch configured {
	case "preview":
		switch {
		case canDraft && limits.Draft == chat.NativeDraft:
			return Draft
		case canEdit && (limits.Draft == chat.DraftByEdit || limits.Draft == chat.NativeDraft):
			return Preview
		}
		return Blocks
	case "block":
		return Blocks
	default:
		return Off
	}
}

// Options is how a turn is streamed.
type Options struct {
	Mode Mode
	// Undrafted takes the place of the mode Draft once the network refuses a draft.
	Undrafted Mode
	To        chat.Address
	Rule      chunk.Rule // of the chat's messages
	Block     Block      // Blocks: when one is sent
	// Interval is the least time from one change of the preview or draft to the next; zero: a second, and 300 ms for a draft.
	Interval time.Duration
	Delay    Delay  // before a block that is neither the first nor the last
	Verbose  string // which tools that were used are listed: on, full for their output, too, or none
	// Files says that files are sent in blocks, each as soon as the text before it was sent. Otherwise all files go with the answer.
	Files     bool
	Reasoning bool            // the preview shows the thoughts before the text
	Listens   bool            // the preview shows nothing before the turn's first word: it may be that nothing is said
	Stop      [][]chat.Button // of the preview
	Prefix    string          // stands once, before the answer
	Quoting   answer.Quoting
	// What the run's earlier attempts have sent; see [domain.Run].
	Said      string
	PreviewID int64
}

// Shows reports whether anything is shown of a turn while it goes on.
func (o Options) Shows() bool { return o.Mode != Off || o.listsTools() }

// interval is the least time from one change of what is shown to the next.
func (o Options) interval() time.Duration {
	switch {
	case o.Interval > 0:
		return o.Interval
	case o.Mode == Draft:
		return draftInterval
	default:
		return editInterval
	}
}

// Delay is a pause of a random length between Min and Max. The zero Delay is none.
type Delay struct {
	Min, Max time.Duration
}

// next returns the length of one pause.
func (d Delay) next() time.Duration { return d.Min + rand.N(max(0, d.Max-d.Min)+1) }

// Block is how large the blocks of an answer are.
type Block struct {
	Min, Max int           // in the unit of the chat's limit; zero: no bound
	Idle     time.Duration // a block of the least size is sent when the text stands still for so long; zero: it is not
	At       chunk.Break
	// Whole says that nothing of a text is sent before it is over: when a tool is used behind it, or the turn ends.
	Whole bool
}

// Surface is the chat that a turn is shown in, for the run that the turn is of.
type Surface interface {
	// Early sends something for good. An error says that nothing was sent, and ends the early sending. It is not cancelled.
	Early(ctx context.Context, e domain.Early) (preview int64, err error)
	// Files takes files that a text names and returns what to send; no items: there is nothing to send now. They count as sent
	// once Early was called with them.
	Files(ctx context.Context, paths []string, voice bool) domain.Early
	// Sent reports whether the agent has sent this very text to the chat by a tool, or, if the text is not complete, one that it may
	// become: it is not sent again.
	Sent(text string, complete bool) bool
	// Show changes the text of a preview that was sent, with the buttons as they are. An error is not an end: the next one
	// may succeed, but for [ErrLate].
	Show(ctx context.Context, preview int64, text string) error
	// Draft shows the text as the network's own draft. An error is not an end, but for [ErrRefused].
	Draft(ctx context.Context, text string) error
	// Behind returns when the oldest piece was posted that waits for being sent to the chat; the zero time: none waits.
	Behind(ctx context.Context) (time.Time, error)
}

// ErrLate is returned for a preview that is too old to be edited: another one is to take its place.
var ErrLate = errors.New("the preview is too old to be edited")

// ErrRefused is returned for a draft where the network takes none: nothing is gained by trying again.
var ErrRefused = errors.New("the network takes no drafts here")

// Times of a stream.
const (
	// editInterval and draftInterval are the times between two changes of what is shown, where the channel does not say.
	editInterval  = time.Second
	draftInterval = 300 * time.Millisecond
	// patience is how long a piece may wait for being sent before nothing more is sent early.
	patience = 15 * time.Second
	// toolGrace is how long a tool is at work before it is told of: most are over sooner, and one that needs leave has asked by then.
	toolGrace = 300 * time.Millisecond
	// toolPause is how long tools are collected to be told of in one message.
	toolPause = 2 * time.Second
	// draftLife is after what time a draft is shown again that has not changed; networks drop one after half a minute.
	draftLife = 20 * time.Second
	// tick is from what time on, and how often, it is shown how long a tool has been at work.
	tick = 10 * time.Second
	// landing is how long a change of what is shown may go on that is on its way when the turn ends. One that was broken off could
	// still arrive behind the answer, in its place.
	landing = time.Second
	// pace is the least time between two looks at a long text, which cost time that grows with it.
	pace     = 50 * time.Millisecond
	longText = 2 << 10 // bytes
)
