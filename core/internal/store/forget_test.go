package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Each table with rows of a session or a chat is one that is looked at, or one that says why not.
func TestForgetKnowsTheTables(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	s := openTest(t)
	other := map[string]string{
		"worktrees.session":   "those that exist have a folder of the operator's",
		"dead_pieces.session": "by chat, and by session where it has one",
		"sessions.chat":       "by key", "moved_chats.chat": "groups", "direct_chats.chat": "by chat, beside the list", "pairings.chat": "by user",
	}
	var unknown []string
	err := s.db.View(t.Context()).Each(`SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.name IN ('session', 'chat')`, nil, func(r engine.Rows) error {
		var table, column string
		if err := r.Scan(&table, &column); err != nil {
			return err
		}
		known := column == "session" && slices.Contains(ofSessions, table) || column == "chat" && (slices.Contains(ofChats, table) || slices.Contains(ofSessions, table))
		if _, why := other[table+"."+column]; !known && !why {
			unknown = append(unknown, table+"."+column)
		}
		return nil
	})
	if err != nil || len(unknown) > 0 {
		t.Errorf("not deleted: %q, %v", unknown, err)
	}
}

// told puts words with somebody's id into each place of the store. What it returns has a message wait.
func told(t *testing.T, s *Store, channel, id, session string) (waits func()) {
	t.Helper()
	ctx := t.Context()
	word := "canary" + id
	to := chat.Address{Channel: channel, Chat: chat.ID(id)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(n int) domain.Inbound {
		return domain.Inbound{
			EventID: chat.EventID(fmt.Sprintf("%s:%s:%d", channel, id, n)), Session: session, Lane: domain.TurnLane,
			Message: domain.Message{
				Channel: channel, Chat: chat.Chat{ID: chat.ID(id), Kind: chat.Direct, Title: "Title" + word},
				Sender: chat.Sender{ID: chat.UserID(id), DisplayName: "Name" + word, Username: "user" + word}, Text: "Text" + word,
			},
		}
	}
	_, err := s.Accept(ctx, in(1))
	must(err)
	var run *domain.Run
	must(s.Claim(ctx, domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }))
	_, err = s.Ask(ctx, run.ID, domain.Question{
		ID: "Q" + id, Session: session, Digest: "digest" + word, Messages: []domain.QuestionMessage{{}}, ExpiresAt: time.Now().Add(time.Hour), Asker: channel + ":" + id,
	}, domain.OutboxItem{To: to, Text: "Question" + word})
	must(err)
	elsewhere := domain.OutboxItem{To: chat.Address{Channel: channel, Chat: "another"}, Text: "May it?"}
	_, err = s.AskAlso(ctx, run.ID, "Q"+id, domain.QuestionMessage{Person: channel + ":" + id}, false, elsewhere)
	must(err)
	must(s.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: to, Text: "Answer" + word}}}))
	_, err = s.PutState(ctx, "todo", "list:"+channel+":"+id, []byte("State"+word), nil)
	must(err)
	must(s.PutMedia(ctx, channel, chat.Media{Ref: chat.MediaRef("ref" + id), FileName: "File" + word}, time.Now()))
	must(s.SetConfigOverride(ctx, config.Override{Name: "reply.prefix." + channel, Value: "on", By: channel + ":" + id, At: time.Now()}))
	must(s.AppendTranscript(ctx, "telegram:group:-5", []chat.TranscriptEntry{
		{Role: chat.User, Text: "in the group Annabel Doe", At: time.Now()},
	}))
	return func() {
		_, err := s.Accept(ctx, in(2))
		must(err)
	}
}

// Behaviour: forget.
func TestForget(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), File)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, waits := range []func(){
		told(t, s, "telegram", "71001", "telegram:71001"), told(t, s, "discord", "71002", "peer:ann"), told(t, s, "signal", "71003", "signal:71003"),
	} {
		waits()
	}
	who := Person{Users: []PersonUser{{"telegram", "71001"}, {"discord", "71002"}}, Identity: "ann", Names: []string{"Annabel Doe"}}
	dry, err := s.Forget(t.Context(), who, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(t.Context(), "telegram:71001"); err != nil {
		t.Errorf("counting has deleted the session: %v", err)
	}
	done, err := s.Forget(t.Context(), who, false)
	if err != nil {
		t.Fatal(err)
	}
	if one, _ := json.Marshal(dry.Rows); !bytes.Equal(one, must(json.Marshal(done.Rows))) {
		t.Errorf("counted %v, deleted %v", dry.Rows, done.Rows)
	}
	if strings.Join(done.Sessions, " ") != "peer:ann telegram:71001" || len(done.Conversations) != 2 || strings.Join(done.Channels, " ") != "telegram discord" {
		t.Errorf("forgotten: %+v", done)
	}
	for _, name := range []string{"Namecanary71001", "usercanary71001", "Titlecanary71002", "71001", "71002"} {
		if !slices.Contains(done.Terms, name) {
			t.Errorf("%s is not to be looked for, of %q", name, done.Terms)
		}
	}
	if want := []Mention{{"transcript of telegram:group:-5", "Annabel Doe", 3}}; !slices.Equal(done.Left, want) || !slices.Equal(dry.Left, want) {
		t.Errorf("left are %+v, and counted before %+v, want %+v", done.Left, dry.Left, want)
	}
	again, err := s.Forget(t.Context(), who, false)
	if err != nil || len(again.Rows) > 0 {
		t.Errorf("the second time %v was deleted, %v", again.Rows, err)
	}
	if err := s.Compact(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context()) // which does not wait for the lock
	cancel()
	if _, err := Open(over, path, Options{}); !errors.As(err, new(*sqlite.LockedError)) {
		t.Errorf("a host starts meanwhile: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range must(filepath.Glob(path + "*")) {
		all = append(all, must(os.ReadFile(file))...)
	}
	for _, word := range []string{"71001", "71002"} {
		if i := bytes.Index(all, []byte(word)); i >= 0 {
			t.Errorf("a file still has %q", all[max(0, i-40):i+40])
		}
	}
	for _, word := range []string{"Textcanary71003", "Answercanary71003", "Questioncanary71003", "Statecanary71003", "Filecanary71003", "in the group"} {
		if !bytes.Contains(all, []byte(word)) {
			t.Errorf("%s of somebody else is gone", word)
		}
	}
	s, err = Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var run *domain.Run
	if err := s.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil || run.Session.Key != "signal:71003" {
		t.Errorf("the other's message: %+v, %v", run, err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestHasTerm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, term string
		want       bool
	}{
		{"tg:1001:5", "1001", true},
		{"1001", "1001", true},
		{"tg:11001", "1001", false},
		{"10012 and 1001.", "1001", true},
		{"10011", "1001", false},
		{"Annabel", "Ann", false},
		{"müller", "ller", false},
		{"an Ann", "Ann", true},
		{"x", "", false},
	} {
		if got := HasTerm(tc.text, tc.term); got != tc.want {
			t.Errorf("HasTerm(%q, %q) = %v", tc.text, tc.term, got)
		}
	}
}
