package turn_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Programs that wait for an answer are told at once why there is none yet, and wait only if that may be over soon.
// Behaviour: program-ask-held.
func TestProgramsAreToldWhyATurnIsHeld(t *testing.T) {
	t.Parallel()
	for class, want := range map[agent.Class]string{
		agent.Unavailable: "Claude cannot be started: no 'exec' format",
		agent.NoSpace:     "This machine has no space for files: no 'exec' format",
		agent.ChannelAway: "Files cannot be fetched while their channel is not running.",
		agent.RateLimit:   "Claude's usage limit is reached until 03:00 UTC. Send your message again then.",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := open(t)
			r.plays(costs(agent.Result{}, agent.Failure{Class: class, Detail: "no `exec`\nformat", ResetsAt: time.Now().Add(3 * time.Hour)}))
			r.run(t)
			var told []string
			began := time.Now()
			for p, err := range r.programs.Ask(t.Context(), gateway.Caller{}, gateway.Prompt{Text: "hello"}) {
				if err != nil {
					t.Fatal(err)
				}
				if p.Held != "" && len(told) == 0 {
					told = append(told, p.Held, time.Since(began).String())
				}
				if p.End.Error != "" {
					told = append(told, p.End.Error, time.Since(began).String())
				}
			}
			ended := time.Minute
			if class == agent.RateLimit {
				ended = 0
			}
			said := storetest.Texts(t, r.store, "cli")
			if !cmp.Equal(told, []string{want, "0s", want, ended.String()}) || len(said) > 0 {
				t.Errorf("%v: the program is told %q, the chat %q", class, told, said)
			}
		})
	}
}

// A turn that cannot begin is tried until it can, ever less often and without end. Its chat and the owners are told once,
// but not of what passes within seconds, and the owners again when it is over.
// Behaviour: claude-unavailable.
func TestATurnThatCannotBeginIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := open(t)
		r.plays(fails(agent.Unavailable))
		r.accept(t, message("hello"))
		r.run(t)
		time.Sleep(6 * time.Hour)
		if n := len(r.asked()); n < 180 || n > 200 {
			t.Errorf("it was tried %d times in six hours", n)
		}
		said, owner := r.told(t)
		if !cmp.Equal(said, []string{notices[agent.Unavailable]}) || len(owner) != 1 || r.outcome(t).State != "" {
			t.Errorf("the chat was told %q, the owners %q: %+v", said, owner, r.outcome(t))
		}
		r.plays(says("hi"))
		time.Sleep(3 * time.Minute)
		said, owner = r.told(t)
		if !cmp.Equal(said, []string{"hi"}) || len(owner) != 1 || !strings.Contains(owner[0], "again") {
			t.Errorf("then the chat was told %q, the owners %q", said, owner)
		}
		r.accept(t, message("and then"))
		if time.Sleep(time.Minute); strings.Contains(r.asked()[1].Prompt, domain.HintCutOff) {
			t.Errorf("it learns of a crash: %q", r.asked()[1].Prompt)
		}
	})
}

// network is telegram, which fetches files.
type network struct {
	plugintest.Idle
	fetch func(ctx context.Context, token chat.FileToken) error // before it has a file
}

// FetchFile implements [sdk.FileFetcher].
func (n network) FetchFile(ctx context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	if err := n.fetch(ctx, token); err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader("a file")), nil
}

// file is a message with a file that is to be fetched.
func file(token chat.FileToken, text string) domain.Message {
	m := message(text)
	m.Media = []chat.Media{{Kind: chat.File, Token: token, FileName: "a.txt"}}
	return m
}

// A turn is also held if its files cannot be fetched at its start, or stored at its end, because of a lack of space. The notice
// names the resource, and only a turn with files shows that it is over.
// Behaviour: file-retry.
func TestATurnWithoutSpaceForFilesIsHeld(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		message domain.Message
		answer  string
		lacks   string
	}{
		"as it begins": {file("a", "read this"), "hi", "a plugin has no space for a file"},
		"as it ends":   {message("hello"), "hi\nMEDIA:a.txt", "no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t)
				limits := chat.Limits{MediaOut: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 1000}}}
				plugintest.Run(t, r.plugins, "telegram", plugintest.Channel(limits, network{fetch: func(context.Context, chat.FileToken) error { return r.disk.space() }}))
				must(t, os.WriteFile(filepath.Join(r.workspace, "a.txt"), []byte("a file"), 0o600))
				r.disk.full.Store(true)
				r.plays(says(test.answer))
				r.accept(t, test.message)
				r.run(t)
				time.Sleep(time.Hour)
				said, owner := r.told(t)
				if r.outcome(t).State != "" || !cmp.Equal(said, []string{notices[agent.NoSpace]}) {
					t.Errorf("%+v, the chat was told %q", r.outcome(t), said)
				}
				if len(owner) != 1 || !strings.Contains(owner[0], "no space for files:\n\n```\n"+test.lacks+"\n```") {
					t.Errorf("the owners were told %q", owner)
				}
				other := r.inbound(message("and without files?"))
				other.Session = "telegram:8"
				r.plays(says("sure"))
				storetest.Accept(t, r.store, other)
				synctest.Wait()
				if said, owner := r.told(t); len(owner) != 0 || !cmp.Equal(said, []string{"sure"}) {
					t.Errorf("a turn without files: the chat was told %q, the owners %q", said, owner)
				}
				r.disk.full.Store(false)
				r.plays(says(test.answer))
				time.Sleep(3 * time.Minute)
				if said, owner := r.told(t); len(said) == 0 || said[0] != "hi" || len(owner) != 1 || !strings.Contains(owner[0], "again") {
					t.Errorf("with space: the chat was told %q, the owners %q", said, owner)
				}
			})
		})
	}
}

// What was held and then dropped ends no outage: that it is over is only known when a turn has begun.
func TestADroppedTurnEndsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := open(t)
		r.plays(fails(agent.Unavailable))
		r.run(t)
		for text, told := range []int{1, 0} {
			r.accept(t, message(fmt.Sprint(text)))
			time.Sleep(10 * time.Minute)
			if _, owner := r.told(t); len(owner) != told {
				t.Errorf("the owners were told %q at message %d", owner, text)
			}
			if n, err := r.store.Clear(t.Context(), session, domain.TurnLane, time.Now()); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			time.Sleep(2 * time.Hour)
		}
		r.plays(says("hi"))
		r.accept(t, message("third"))
		time.Sleep(time.Minute)
		if _, owner := r.told(t); len(owner) != 1 || !strings.Contains(owner[0], "again") {
			t.Errorf("when a turn can begin, the owners are told %q", owner)
		}
	})
}

// Nobody is notified of an outage that passes within seconds, nor of a starting channel that holds turns which need its
// files: the chat cannot be reached, and the supervisor notifies the owners.
// Behaviour: claude-unavailable, file-retry.
func TestHoldsWithoutNotice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		message domain.Message
		script  []step
		away    time.Duration // for how long the channel is
	}{
		"a short outage":         {message("hello"), []step{fails(agent.Unavailable), fails(agent.Unavailable), fails(agent.Unavailable), says("hi")}, 0},
		"a channel that is away": {file("a", "hello"), []step{says("hi")}, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t)
				r.plays(test.script...)
				r.accept(t, test.message)
				r.run(t)
				time.Sleep(test.away)
				if said := r.said(t); test.away > 0 && (len(r.asked()) > 0 || r.outcome(t).State != "" || said != "") {
					t.Errorf("it began without the files, or %q was told", said)
				}
				plugintest.Run(t, r.plugins, "telegram", plugintest.Channel(chat.Limits{}, network{fetch: func(context.Context, chat.FileToken) error { return nil }}))
				time.Sleep(3 * time.Minute)
				if said := r.said(t); said != "hi" || len(r.asked()) != len(test.script) {
					t.Errorf("in %d turns %q was told", len(r.asked()), said)
				}
			})
		})
	}
}
