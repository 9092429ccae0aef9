package view

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
)

// claudeSession is that of the messages.
const claudeSession = "6d1c2a3e-5f70-4b21-9c1d-0123456789ab"

// world is what views work with, without any channel that runs.
type world struct {
	files *outgoing.Files
}

// Origin implements [conversation.Chats].
func (*world) Origin(_ string, id chat.ID) chat.ID { return id }

// view returns the view of a message that is answered.
func (w *world) view(m domain.Message, said string) *View {
	registry := plugins.New(nil)
	conversations := conversation.NewResolver(&config.Config{}, registry, w)
	views := New(Options{
		Plugins: registry, Chats: activity.NewChats(registry, nil), Conversations: conversations, Files: map[string]*outgoing.Files{"": w.files}, Programs: &gateway.Gateway{},
	}, hclog.NewNullLogger())
	return views.For(conversations.Run(&domain.Run{
		Head: domain.Queued{ClaudeSession: claudeSession, Message: m}, Said: said,
	}))
}

// An answer without words is reported to the person who waits for one, and to no one else.
// Behaviour: answer-empty, memory-flush-when.
func TestAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind   chat.Kind
		origin domain.Origin
		said   []string
	}{
		"a person":       {chat.Direct, "", []string{wording.EmptyAnswer}},
		"a plugin":       {chat.Direct, domain.OriginPlugin, []string{wording.EmptyAnswer}},
		"a group":        {chat.Group, "", nil},
		"a memory flush": {chat.Direct, domain.OriginFlush, nil},
		"a heartbeat":    {chat.Direct, domain.OriginHeartbeat, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w world
			var said []string
			got, err := w.view(domain.Message{Chat: chat.Chat{ID: "c", Kind: test.kind}, Origin: test.origin}, "").Answer(t.Context(), agent.Result{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got.Items {
				said = append(said, p.Text)
			}
			if diff := cmp.Diff(test.said, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// What was begun to be said before it is said to its end, also if no one waits for an answer.
func TestAnEmptyAnswerBehindSomethingBegun(t *testing.T) {
	t.Parallel()
	var w world
	v := w.view(domain.Message{Chat: chat.Chat{ID: "c", Kind: chat.Group}}, "First ")
	v.Progress(agent.Progress{Done: []agent.Step{{Text: "First the rest of a sentence."}}})
	v.End()
	got, err := v.Answer(t.Context(), agent.Result{})
	if err != nil || len(got.Items) != 1 || got.Items[0].Text != "the rest of a sentence." {
		t.Errorf("said %+v, %v", got, err)
	}
}

// What is in the folder of outgoing files stays with an answer that can take none along: as long as it is not known what the channel
// takes, the folder is not read.
func TestFilesThatDoNotGoStay(t *testing.T) {
	t.Parallel()
	stored, log := mediatest.Setup(t), hclog.NewNullLogger()
	w := world{outgoing.New(outgoing.Options{Store: stored.Store, Ledger: stored.Rows, Workspace: stored.Workspace}, log)}
	folder, err := w.files.Open(claudeSession)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(stored.Workspace, folder, "chart.txt")
	if err := os.WriteFile(path, []byte(mediatest.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := w.view(domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "1", Kind: chat.Direct}}, "").Answer(t.Context(), agent.Result{Text: "here it is"})
	if err != nil || len(said.Items) != 1 || said.Items[0].Text != "here it is" || said.Files != nil {
		t.Errorf("said %+v, %v", said, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// What a turn of a minute or more has done stands behind its answer, for those who may use commands. The time that people took is not its
// time.
// Behaviour: turn-summary.
func TestWhatALongTurnHasDone(t *testing.T) {
	t.Parallel()
	uses := agent.Uses{Commands: 12, Pages: 2, Searches: 1, Subagents: 1}
	changed := agent.Changes{Files: []string{"/w/a", "/w/b"}, Added: 3, Removed: 1}
	for _, tt := range []struct {
		shown        string
		by           chat.Authority
		took, waited time.Duration
		result       agent.Result
		want         string
	}{
		{"on", chat.Authorised, time.Minute, 0, agent.Result{Text: "Done."}, "Done.\n\nTook 1 min."},
		{"on", chat.Authorised, time.Minute - 1, 0, agent.Result{Text: "Done.", Uses: uses}, "Done."},
		{"on", chat.Authorised, 3*time.Minute + 50*time.Second, 0, agent.Result{Text: "Done.", Uses: uses}, "Done.\n\nTook 3 min: 12 commands, 2 pages read, 1 web search, 1 subagent."},
		{"on", chat.Authorised, 2 * time.Minute, 61 * time.Second, agent.Result{Text: "Done.", Uses: uses}, "Done."},
		{"on", chat.Authorised, 3 * time.Minute, time.Minute, agent.Result{Text: "Done."}, "Done.\n\nTook 2 min."},
		{"on", chat.Owner, 65 * time.Minute, 0, agent.Result{Text: "Done.", Uses: agent.Uses{Commands: 1}, Changes: changed}, "Done.\n\nTook 1 h 05 min: 1 command, 2 files changed (+3 −1). `/diff` shows it, `/undo` takes it back."},
		{"on", chat.Authorised, time.Minute, 0, agent.Result{Text: "Done.", Changes: agent.Changes{Delegated: true}}, "Done.\n\nTook 1 min: files changed by subagents."},
		{"off", chat.Owner, time.Hour, 0, agent.Result{Text: "Done.", Uses: uses, Changes: changed}, "Done."},
		{"on", chat.Other, time.Hour, 0, agent.Result{Text: "Done.", Uses: uses, Changes: changed}, "Done."},
		{"on", chat.Owner, time.Hour, 0, agent.Result{Text: "NO_REPLY", Uses: uses}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var w world
			v := w.view(domain.Message{Chat: chat.Chat{ID: "c", Kind: chat.Direct}}, "")
			v.run.StartedAt = time.Now()
			v.run.Settings.Reply.Changes, v.run.Caller.Authority = tt.shown, tt.by
			v.stream.Pause()
			<-time.After(tt.waited)
			v.stream.Resume()
			<-time.After(tt.took - tt.waited)
			got, err := v.Answer(t.Context(), tt.result)
			text := ""
			for _, p := range got.Items {
				text += p.Text
			}
			if err != nil || text != tt.want {
				t.Errorf("%+v: %q, %v", tt, text, err)
			}
		})
	}
}

// How much was changed stands behind an answer for those who may use commands, and how it is taken back only for owners.
// Behaviour: changes.
func TestChangesBehindAnAnswer(t *testing.T) {
	t.Parallel()
	changed := agent.Changes{Files: []string{"/w/a", "/w/b"}, Added: 3, Removed: 1}
	const said = "Changed 2 files: +3 −1."
	for _, tt := range []struct {
		shown, usage string
		by           chat.Authority
		text         string
		changed      agent.Changes
		want         string
	}{
		{"on", "off", chat.Owner, "Done.", changed, "Done.\n\n" + said + " `/diff` shows it, `/undo` takes it back."},
		{"on", "off", chat.Authorised, "Done.", changed, "Done.\n\n" + said},
		{"on", "tokens", chat.Authorised, "Done.", changed, "Done.\n\n" + said + "\n\n_0 tokens in, 0 out_"},
		{"on", "off", chat.Authorised, "Done.", agent.Changes{Delegated: true}, "Done.\n\nSubagents changed files."},
		{"on", "off", chat.Other, "Done.", changed, "Done."},
		{"off", "off", chat.Owner, "Done.", changed, "Done."},
		{"on", "off", chat.Owner, "Done.", agent.Changes{}, "Done."},
		{"on", "off", chat.Owner, "NO_REPLY", changed, ""},
	} {
		var w world
		v := w.view(domain.Message{Chat: chat.Chat{ID: "c", Kind: chat.Direct}}, "")
		v.run.Settings.Reply.Changes, v.run.Usage, v.run.Caller.Authority = tt.shown, tt.usage, tt.by
		got, err := v.Answer(t.Context(), agent.Result{Text: tt.text, Changes: tt.changed})
		text := ""
		for _, p := range got.Items {
			text += p.Text
		}
		if err != nil || text != tt.want {
			t.Errorf("%+v: %q, %v", tt, text, err)
		}
	}
}
