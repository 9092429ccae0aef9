package store

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/sdk/chat"
)

// writeOld makes a database as a build wrote it that knew only the first migrations, with some rows.
func writeOld(t *testing.T, path string, schema int, inserts ...string) {
	t.Helper()
	all := migrations.SQLite()
	names, err := fs.Glob(all, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	known := fstest.MapFS{}
	for _, name := range names[:schema] {
		text, err := fs.ReadFile(all, name)
		if err != nil {
			t.Fatal(err)
		}
		known[name] = &fstest.MapFile{Data: text}
	}
	db, err := sqlite.Open(t.Context(), path, known, sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := engine.Change(t.Context(), db, "fill", func(t *engine.Tx) error {
		for _, insert := range inserts {
			if _, err := t.Exec(insert); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A process that a build recorded which knew no marks is still there to be ended.
func TestProcessesOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	writeOld(t, path, 19, `INSERT INTO processes (pid, start_time, kind, name, boot_id, host_pid, host_start) VALUES (7, 2, 'claude', 'uuid', 'boot', 5, 1)`)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	want := domain.Process{Kind: "claude", Name: "uuid", PID: 7, StartTime: 2, BootID: "boot", Host: domain.Host{PID: 5, StartTime: 1}}
	if got, err := s.Processes(t.Context()); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("the process is %+v, %v, want %+v", got, err, want)
	}
}

// TestMessagesOutliveAnUpgrade has a database of the first schema in which one message ran when the host ended, one had
// been given back and two wait.
func TestMessagesOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "clawhost.db")
	writeOld(t, path, 1,
		`INSERT INTO sessions (key, claude_session, kind, title, channel, chat, thread, created_at, reset_at)
			VALUES ('a', 'ca', 1, '', 'c', 'a', '', 1, 1), ('b', 'cb', 1, '', 'c', 'b', '', 1, 1)`,
		`INSERT INTO claude_sessions (id, session, begun_at, started_at) VALUES ('ca', 'a', 1, 1), ('cb', 'b', 1, 1)`,
		`INSERT INTO runs (id, session, lane, seq, channel, event_id, state, started_at) VALUES (7, 'a', 'turn', 1, 'c', 'a1', 'running', 1)`,
		`INSERT INTO lanes (session, lane, next_seq, queued, ready_at, run_id) VALUES ('a', 'turn', 2, 2, NULL, 7), ('b', 'turn', 2, 2, 1, NULL)`,
		`INSERT INTO inbox (session, lane, seq, channel, event_id, message, received_at, ready_at, attempts, claude_session) VALUES
			('a', 'turn', 1, 'c', 'a1', '{"text":"a1"}', 1, 1, 1, 'ca'), ('a', 'turn', 2, 'c', 'a2', '{"text":"a2"}', 1, 1, 0, NULL),
			('b', 'turn', 1, 'c', 'b1', '{"text":"b1"}', 1, 1, 2, 'cb'), ('b', 'turn', 2, 'c', 'b2', '{"text":"b2"}', 1, 1, 0, NULL)`)
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if lanes, err := s.Lanes(ctx); err != nil || len(lanes) != 2 || lanes[0].Waiting != 1 || lanes[1].Waiting != 2 {
		t.Errorf("lanes %+v, %v", lanes, err)
	}
	if runs, _, err := s.Reclaim(ctx); runs != 1 || err != nil {
		t.Errorf("reclaimed %d runs, %v", runs, err)
	}
	// A new message steers the run of an old one no more than it joins its burst: whose it was is not known.
	if _, err := s.Accept(ctx, domain.Inbound{
		EventID: "a3", Session: "a", Lane: domain.TurnLane, Message: domain.Message{Channel: "c", Chat: chat.Chat{ID: "a"}, Text: "a3"},
		Queue: domain.Queueing{Mode: domain.Steer}, Burst: domain.Burst{Gap: time.Minute, Pause: time.Minute, By: "anna"},
	}); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for range 4 {
		run, _, err := s.ClaimNow(ctx, domain.TurnLane)
		if err != nil || run == nil || len(run.More) != 0 {
			t.Fatalf("claimed %+v, %v", run, err)
		}
		if joined, err := s.Join(ctx, run.ID); len(joined) != 0 || err != nil {
			t.Errorf("joined %+v, %v", joined, err)
		}
		got[run.Head.Message.Text] = run.Head.Attempts
		if err := s.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone}); err != nil {
			t.Fatal(err)
		}
	}
	for text, attempts := range map[string]int{"a1": 2, "a2": 1, "b1": 3, "b2": 1} {
		if got[text] != attempts {
			t.Errorf("message %s was claimed %d times, want %d", text, got[text], attempts)
		}
	}
}

// The chat is notified of dropped messages that were noted by a build which did not record such notices.
func TestNotesOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	writeOld(t, path, 20, `INSERT INTO notes (session, kind, at, sender, text, count) VALUES ('a', 'overflow', 1, 'anna', 'a1', 3)`)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Accept(t.Context(), domain.Inbound{
		EventID: "a2", Session: "a", Lane: domain.TurnLane, Message: domain.Message{Channel: "c", Chat: chat.Chat{ID: "a"}, Text: "a2"},
	}); err != nil {
		t.Fatal(err)
	}
	if run, _, err := s.ClaimNow(t.Context(), domain.TurnLane); err != nil || run == nil || run.Dropped != 3 {
		t.Errorf("the run is %+v, %v, want 3 dropped messages", run, err)
	}
}

// A question of a build that knew one message of each is open where it was, with buttons or with numbers.
func TestQuestionsOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	const columns = `INSERT INTO questions (id, session, claude_session, digest, authority, asker, channel, chat, thread, piece, body, state, created_at, expires_at)
		VALUES ('%s', 's', 'c', '%[1]s', 3, 'c:a', 'c', 'a', '7', %d, '%s', 'open', 1, 9)`
	writeOld(
		t, path, 37, fmt.Sprintf(columns, "AAAAA", 5, `{"about":"tool","numbered":true,"kind":1}`),
		fmt.Sprintf(columns, "BBBBB", 6, `{"about":"tool","line":"{\"numbered\":true}"}`),
	)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	to := chat.Address{Channel: "c", Chat: "a", Thread: "7"}
	got, err := s.OpenQuestions(t.Context(), to, "nobody", "nothing")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, numbered := range []bool{true, false} {
		want := domain.QuestionMessage{To: to, Item: int64(5 + i), Numbered: numbered, AskedAt: engine.Moment(1)}
		if len(got[i].Messages) != 1 || got[i].Messages[0] != want {
			t.Errorf("question %d has the messages %+v, want %+v", i, got[i].Messages, want)
		}
	}
}

// What the messages of a build said in their JSON alone, that steps select them by, is in the columns.
func TestColumnsOfMessagesOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	type columns struct {
		authority                       chat.Authority
		origin                          domain.Origin
		edition                         chat.EventID
		fresh, files, steers, withdrawn bool
	}
	files := []chat.Media{{Ref: "r"}}
	messages := []struct {
		message domain.Message
		mode    string
		text    string // in place of the message, if it is not empty
		want    columns
	}{
		{message: domain.Message{Text: "hello"}},
		{message: domain.Message{Text: `{"origin":"plugin","fresh":true,"edition":"e","media":[1]}`}},
		{message: domain.Message{Authority: chat.Owner}, mode: "steer", want: columns{authority: chat.Owner, steers: true}},
		{message: domain.Message{Authority: chat.Other}, mode: "steer-backlog", want: columns{authority: chat.Other, steers: true}},
		{message: domain.Message{Authority: chat.Authorised}, mode: "collect", want: columns{authority: chat.Authorised}},
		{message: domain.Message{Origin: domain.OriginHeartbeat}, want: columns{origin: domain.OriginHeartbeat}},
		{message: domain.Message{Fresh: true}, want: columns{fresh: true}},
		{message: domain.Message{Edition: "e"}, want: columns{edition: "e"}},
		{message: domain.Message{Media: files}, want: columns{files: true}},
		{message: domain.Message{ReplyTo: &chat.Quote{Media: files}}, want: columns{files: true}},
		{message: domain.Message{ReplyTo: &chat.Quote{Text: "hello"}}},
		{
			message: domain.Message{Fresh: true, Origin: domain.OriginPlugin, Media: files}, mode: "withdrawn",
			want: columns{fresh: true, origin: domain.OriginPlugin, files: true, withdrawn: true},
		},
		{text: "{", message: domain.Message{Authority: chat.Owner}, want: columns{authority: chat.Owner}},
	}
	var inserts []string
	for i, m := range messages {
		text := m.text
		if text == "" {
			encoded, err := json.Marshal(m.message)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		share := ""
		if m.message.Authority != 0 {
			share = fmt.Sprintf(`%d "c" "a" ""`, m.message.Authority)
		}
		inserts = append(inserts, fmt.Sprintf(`INSERT INTO inbox (session, lane, seq, channel, event_id, message, received_at, ready_at, burst, mode, share)
			VALUES ('a', 'turn', %d, 'c', 'a%d', '%s', 1, 1, %d, '%s', '%s')`, i+1, i+1, text, i+1, m.mode, share))
	}
	path := filepath.Join(t.TempDir(), "clawhost.db")
	writeOld(t, path, 21, inserts...)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i, m := range messages {
		var got columns
		err := s.db.View(t.Context()).Row(`SELECT authority, origin, edition, fresh, files, steers, withdrawn FROM inbox WHERE seq = ?1`, []any{i + 1},
			&got.authority, &got.origin, &got.edition, &got.fresh, &got.files, &got.steers, &got.withdrawn)
		if err != nil || got != m.want {
			t.Errorf("message %d, %+v in mode %q, has the columns %+v, %v; want %+v", i+1, m.message, m.mode, got, err, m.want)
		}
	}
}

// An entry that a build wrote which did not note how answers were made is still exported.
func TestTranscriptsOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	SQLiteOnly(t)
	path := filepath.Join(t.TempDir(), "clawhost.db")
	writeOld(t, path, 24, `INSERT INTO transcript (session, role, text, said_at) VALUES ('a', 2, 'hello', 1)`)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got, err := s.Entries(t.Context(), "a", 0, 10); err != nil || len(got) != 1 || got[0].Text != "hello" || got[0].Made != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
