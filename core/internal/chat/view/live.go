package view

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/answer"
)

const (
	maxLive     = 100     // turns
	maxLiveText = 4 << 10 // bytes of each
)

// Live is a turn that runs, as far as it has come.
type Live struct {
	Run     int64
	Session string
	Agent   string
	Since   time.Time // the begin of this attempt
	Text    string    // the end of what it has written, at most 4 KiB
	Cut     bool      // it has written more before that
	Tools   []string  // the names of the tools that run, oldest first
}

// Live returns the turns that run, oldest first, at most 100. What it reads is kept for the chats: nothing is done for it as long
// as it is not called.
func (vs *Views) Live() []Live {
	shown := vs.lives.list()
	list := make([]Live, 0, len(shown))
	for of, l := range shown {
		p := of.Latest()
		l.Text, l.Cut = written(p)
		for _, t := range p.Running {
			l.Tools = append(l.Tools, t.Name)
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Live) int { return cmp.Compare(a.Run, b.Run) })
	return list
}

// written returns the end of what a turn has written, as its chat would see it, and whether there is more before that.
func written(p agent.Progress) (text string, cut bool) {
	text = answer.Parse(p.Text, false).Text
	for _, step := range slices.Backward(p.Done) {
		if len(text) > maxLiveText {
			break
		}
		if step.Tool.Name == "" {
			text = strings.TrimPrefix(answer.Parse(step.Text, true).Text+"\n\n"+text, "\n\n")
		}
	}
	text = strings.TrimSpace(text)
	if len(text) <= maxLiveText {
		return text, false
	}
	from := len(text) - maxLiveText
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:], true
}

// lives are the streams of the turns that run.
type lives struct {
	mu   sync.Mutex
	runs map[*stream.Stream]Live // without texts and tools
}

func (l *lives) begin(s *stream.Stream, run *conversation.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[*stream.Stream]Live{}
	}
	l.runs[s] = Live{Run: run.ID, Session: run.Session.Key, Agent: run.Agent.Label, Since: run.StartedAt}
}

func (l *lives) end(s *stream.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, s)
}

// list returns at most [maxLive] of them.
func (l *lives) list() map[*stream.Stream]Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[*stream.Stream]Live, min(len(l.runs), maxLive))
	for s, of := range l.runs {
		if len(found) == maxLive {
			break
		}
		found[s] = of
	}
	return found
}
