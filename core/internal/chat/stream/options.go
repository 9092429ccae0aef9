// Package stream shows a turn while it runs: the answer as it is written, and what the agent does.
//
// Text that stays in the chat is sent through the outbox, under the run's fence: blocks of the answer, and the list of
// tools used. The growing rest is shown by a preview, which is a message that is edited, or by a draft of the network.
// What was not sent when the turn ends is sent with its answer: the stream finishes it, because it alone knows what the chat has.
package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
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

// Choose returns the mode for the configured value, off, block or preview, and for the drafts that the channel can show in a chat.
func Choose(configured string, draft chat.Draft) Mode {
	switch configured {
	case "preview":
		switch draft {
		case chat.NativeDraft:
			return Draft
		case chat.DraftByEdit:
			return Preview
		default:
			return Blocks
		}
	case "block":
		return Blocks
	default:
		return Off
	}
}

// Options are the settings of a turn's stream.
type Options struct {
	Mode Mode
	// Undrafted replaces the mode Draft once the network refuses a draft.
	Undrafted Mode
	To        chat.Address
	Rule      chunk.Rule // of the chat's messages
	Block     Block      // Blocks: when one is sent
	Steps     bool       // a text before a tool stays in the chat, as it does in Blocks
	// Interval is the minimum time between two updates of the preview or draft; zero: one second, and 300 ms for a
	// draft.
	Interval time.Duration
	Delay    Delay  // before a block that is neither the first nor the last
	Verbose  string // which tools that were used are listed: on, full for their output, too, or none
	// Files says that files are sent in blocks, each as soon as the text before it was sent. Otherwise all files go with the answer.
	Files     bool
	Reasoning bool            // the preview shows the reasoning before the text
	Listens   bool            // the preview shows nothing before the turn's first word, because the answer may be silent
	Stop      [][]chat.Button // of the preview
	Prefix    string          // put once before the answer
	Quoting   answer.Quoting
	// An answer that comes NotifyAfter the turn's beginning is a new message, not an edit; zero: it never is.
	NotifyAfter time.Duration
	Began       time.Time
}

// Shows reports whether anything is shown of a turn while it goes on.
func (o Options) Shows() bool { return o.Mode != Off || o.Steps || o.listsTools() }

// tooShort reports whether only the text has changed, and is too short for a block. It spares a short answer the cost of
// looking at each of its pieces.
func (o Options) tooShort(was, now agent.Progress) bool {
	return o.Mode == Blocks && !o.Rule.Paragraphs && len(now.Text) < o.Block.Min && !now.Complete && !answer.MayNameFiles(now.Text) &&
		len(now.Done) == 0 && now.Thinking == was.Thinking && slices.Equal(now.Running, was.Running)
}

// interval is the minimum time between two updates.
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

// Delay is a pause of a random length between Min and Max. The zero Delay is no pause.
type Delay struct {
	Min, Max time.Duration
}

// next returns the length of one pause.
func (d Delay) next() time.Duration { return d.Min + rand.N(max(0, d.Max-d.Min)+1) }

// Block is the size of the answer's blocks.
type Block struct {
	Min, Max int           // in the unit of the chat's limit; zero: no bound
	Idle     time.Duration // a block of the minimum size is sent when the text has not grown for this time; zero: it is not
	At       chunk.Break
	// Whole delays a text until it is complete: when a tool is used after it, or the turn ends.
	Whole bool
}

// Surface is the chat that shows a turn, for the turn's run. Package view implements it.
type Surface interface {
	// Early sends something permanently. An error means that nothing was sent, and ends early sending. It is not
	// cancelled.
	Early(ctx context.Context, e domain.Early) (preview int64, err error)
	// Files takes files that a text names and returns what to send; no items: there is nothing to send now. They count as sent
	// once Early was called with them.
	Files(ctx context.Context, paths []string, voice bool) domain.Early
	// Show edits the text of a sent preview and keeps its buttons. After an error the next call may succeed, except
	// after [ErrLate].
	Show(ctx context.Context, preview int64, text string) error
	// Draft shows the text as a draft of the network. After an error the next call may succeed, except after
	// [ErrRefused].
	Draft(ctx context.Context, text string) error
	// Behind returns when the oldest item was posted that waits to be sent to the chat; the zero time: none waits.
	Behind(ctx context.Context) (time.Time, error)
	// Deletes reports whether the network can delete the preview.
	Deletes() bool
}

// ErrLate is returned for a preview that is too old to be edited: a new one must replace it.
var ErrLate = errors.New("the preview is too old to be edited")

// ErrRefused is returned if the network accepts no drafts; trying again does not help.
var ErrRefused = errors.New("the network takes no drafts here")

// Times of a stream.
const (
	// editInterval and draftInterval are the times between two updates, if the channel does not name one.
	editInterval  = time.Second
	draftInterval = 300 * time.Millisecond
	// patience is how long an item may wait for sending before early sending stops.
	patience = 15 * time.Second
	// toolGrace is how long a tool runs before it is shown: most end sooner, and one that needs permission has asked by
	// then.
	toolGrace = 300 * time.Millisecond
	// toolPause is how long tools are collected before one message lists them.
	toolPause = 2 * time.Second
	// draftLife is when an unchanged draft is shown again; networks remove one after 30 seconds.
	draftLife = 20 * time.Second
	// tick is when, and how often, the running time of a tool is shown.
	tick = 10 * time.Second
	// lastUpdateTimeout is how long a running update may continue when the turn ends. A cancelled one could still arrive after
	// the answer and replace it.
	lastUpdateTimeout = time.Second
	// pace is the minimum time between two looks at a long text, whose cost grows with its length.
	pace     = 50 * time.Millisecond
	longText = 2 << 10 // bytes
)
