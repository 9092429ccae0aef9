package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestStepsOfAMessageScanNoTable takes every step that a message may need and asks SQLite how it did them: no cost may
// grow with the sessions or with the history.
func TestStepsOfAMessageScanNoTable(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	claim := func() *domain.Run {
		t.Helper()
		run, _, err := s.ClaimNow(ctx, domain.TurnLane)
		must(err)
		return run
	}
	to := chat.Address{Channel: "telegram", Chat: "anna"}
	n := 0
	accept := func(change func(*domain.Inbound)) domain.Acceptance {
		t.Helper()
		n++
		in := domain.Inbound{
			EventID: chat.EventID(fmt.Sprint(n)), Session: "s", Lane: domain.TurnLane,
			Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna"}, Sender: chat.Sender{ID: "anna"}},
		}
		change(&in)
		a, err := s.Accept(ctx, in)
		must(err)
		return a
	}
	for range 3 {
		accept(func(in *domain.Inbound) { in.Message.Fresh, in.Message.Starter = true, "bread" })
	}
	accept(func(in *domain.Inbound) { in.Session, in.Message.Chat.Kind = "direct", chat.Direct })
	_, err := s.DirectChat(ctx, "telegram", "anna")
	must(err)
	_, err = s.Clear(ctx, "direct", domain.TurnLane, time.Now().Add(time.Hour))
	must(err)
	must(s.Release(ctx, claim().ID, time.Time{}, ""))
	run := claim()
	must(s.Consumed(ctx, run.ID))
	_, err = s.ReplaceSession(ctx, run.ID)
	must(err)
	_, _, err = s.ResetSession(ctx, "s")
	must(err)
	must(s.Complete(ctx, run.ID, domain.Completion{
		State: domain.RunDone, Items: []domain.OutboxItem{{To: to}, {To: to}, {To: to}},
		Transcript: []chat.TranscriptEntry{{Role: chat.Assistant}}, Turn: &domain.TurnFigures{FirstWord: time.Second, Accounts: []domain.Account{{Per: domain.PerAll, Period: "2026-03-15"}}},
	}))
	for _, query := range s.db.Statements() {
		if strings.Contains(query, "outgoing_files") {
			t.Errorf("a turn without files pays for those of others: %s", query)
		}
	}
	stepsOfConversations(t, s, accept, claim)
	stepsOfStreaming(t, s, accept, claim)
	_, err = s.Clear(ctx, "s", domain.TurnLane, time.Now().Add(time.Hour))
	must(err)
	_, err = s.Post(ctx, domain.KeyToolCall.Of("key"), domain.OutboxItem{To: to})
	must(err)
	for _, end := range []func(id int64) error{
		func(id int64) error { return s.Retry(ctx, id, domain.Retry{At: time.Now(), Uncertain: true}) },
		func(id int64) error { return s.Delivered(ctx, id, []chat.MessageID{"1"}) },
		func(id int64) error { return s.DeadLetter(ctx, id, "") },
	} {
		ds, _, err := s.ClaimDeliveriesNow(ctx, "telegram", 1)
		must(err)
		must(end(ds[0].ID))
	}
	_, err = s.Outcome(ctx, "telegram", "1")
	must(err)
	_, err = s.OpenQuestions(ctx, to, "anna", "noted")
	must(err)
	_, err = s.QuestionsOf(ctx, "s")
	must(err)
	if _, err = s.Question(ctx, "ABCDE"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a question that no one asked: %v", err)
	}
	_, err = s.Session(ctx, "s")
	must(err)
	_, err = s.Overrides(ctx, "unused")
	must(err)
	_, err = s.Sessions(ctx, "", 0)
	must(err)
	_, err = s.Transcript(ctx, "s", 0, 0)
	must(err)
	_, err = s.Allowed(ctx, "telegram", "anna")
	must(err)
	_, err = s.PutState(ctx, "memory", "k", nil, nil)
	must(err)
	_, _, err = s.GetState(ctx, "memory", "k")
	must(err)
	_, err = s.ListState(ctx, "memory", "", "", 0)
	must(err)
	must(s.DeleteState(ctx, "memory", "k"))
	must(s.PutMedia(ctx, "telegram", chat.Media{Ref: "r"}, time.Now()))
	_, err = s.Media(ctx, "telegram", "r")
	must(err)
	stepsOfFiles(t, s)

	bounded := map[string]bool{
		"SCAN store":        true, // has one row
		"SCAN media_use":    true, // has one for each plugin
		"SCAN CONSTANT ROW": true,
		"SCAN moved_chats":  true, // is read once
		"SCAN questions USING INDEX questions_unended": true, // has those that are not closed
		"SCAN questions USING INDEX questions_live":    true, // the same, as PostgreSQL may do it
		"SCAN histories USING INDEX histories_touched": true, // has maxHistories rows
		"SCAN starters USING INDEX starters_kept":      true, // has maxStarters rows
	}
	checked := 0
	for _, query := range s.db.Statements() {
		if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "INSERT") && !strings.HasPrefix(query, "UPDATE") && !strings.HasPrefix(query, "DELETE") {
			continue // BEGIN and the like
		}
		checked++
		if regexp.MustCompile(`LIMIT \?\d+( *\)|\s*$|\n)`).MatchString(query) {
			t.Errorf("planned again each time it is run: %s", query)
		}
		for _, scan := range scans(t, s, query) {
			if !bounded[scan] {
				t.Errorf("%s in\n%s", scan, query)
			}
		}
	}
	if checked < 140 {
		t.Errorf("only %d queries were looked at", checked)
	}
}

// TestPurgeLooksAtNoMoreThanItRemoves asks SQLite how it finds expired rows: meanwhile all steps wait.
func TestPurgeLooksAtNoMoreThanItRemoves(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	if err := s.Purge(t.Context(), Ages{Transcripts: time.Hour}); err != nil {
		t.Fatal(err)
	}
	bounded := map[string]bool{
		"SCAN pairings":   true, // a few of each channel
		"SCAN reactions":  true, // of messages that wait or run, and of a day where a channel is away
		"SCAN inbox":      true, // what waits
		"SCAN runs":       true, // the first of them
		"SCAN transcript": true, // the same

		"SCAN runs USING INDEX runs_pkey":             true, // as above, in PostgreSQL
		"SCAN transcript USING INDEX transcript_pkey": true,
	}
	checked := 0
	for _, query := range s.db.Statements() {
		if !strings.HasPrefix(query, "DELETE") {
			continue
		}
		checked++
		for _, scan := range scans(t, s, query) {
			if !bounded[scan] {
				t.Errorf("%s in\n%s", scan, query)
			}
		}
	}
	if checked < 13 {
		t.Errorf("only %d queries were looked at", checked)
	}
}

// stepsOfConversations takes the steps that only some messages need.
func stepsOfConversations(t *testing.T, s *Store, accept func(func(*domain.Inbound)) domain.Acceptance, claim func() *domain.Run) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Clear(ctx, "s", domain.TurnLane, time.Now().Add(time.Hour)) // what is left of the steps before
	must(err)
	burst := func(in *domain.Inbound) { in.Burst = domain.Burst{Gap: time.Minute, Pause: time.Minute, By: "anna"} }
	accept(burst)
	must(s.Linger(ctx, "s", "anna", time.Now().Add(time.Minute)))
	accept(func(in *domain.Inbound) { burst(in); in.Burst.Now = true })
	run := claim()
	if len(run.More) != 1 {
		t.Fatalf("no burst: %+v", run)
	}
	steer := func(in *domain.Inbound) { in.Queue.Mode = domain.Steer }
	for range 3 {
		accept(steer)
	}
	joined, err := s.Join(ctx, run.ID)
	must(err)
	if len(joined) != 3 {
		t.Fatalf("joined %+v", joined)
	}
	then := domain.Inbound{EventID: "then", Session: "s", Lane: domain.TurnLane, Message: domain.Message{Channel: "telegram", Origin: domain.OriginFlush}}
	must(s.Complete(ctx, run.ID, domain.Completion{
		State: domain.RunDone, Covered: []string{joined[0].UUID}, Then: &then, Notes: []domain.Note{{Kind: domain.NoteHint}},
		Turn: &domain.TurnFigures{Day: "2026-03-01", Model: "opus", Compactions: 1, Flush: true},
	}))
	run = claim()
	capped := func(drop domain.Drop) func(*domain.Inbound) {
		return func(in *domain.Inbound) {
			in.Queue = domain.Queueing{Mode: domain.Collect, Quiet: time.Minute, Cap: 2, Drop: drop}
		}
	}
	for range 3 {
		accept(capped(domain.DropSummarize))
	}
	if a := accept(capped(domain.DropNew)); a.Seq != 0 {
		t.Fatalf("not dropped: %+v", a)
	}
	accept(capped(domain.DropOld))
	must(s.Consumed(ctx, run.ID))
	if _, err := s.MessagesWait(ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	accept(func(in *domain.Inbound) {
		in.Queue.Mode, in.Hint = domain.Interrupt, &domain.Note{Kind: domain.NoteHint}
	})
	if _, err := s.MessagesWait(ctx, run.ID); !errors.Is(err, domain.ErrFenced) {
		t.Fatalf("not interrupted: %v", err)
	}
	run = claim()
	if len(run.Notes) == 0 {
		t.Fatal("no notes")
	}
	file := domain.OutgoingFile{Agent: "main", Folder: "outbound/1", Name: "a.txt"}
	must(s.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone, Files: []domain.OutgoingFile{file}}))
	_, err = s.OutgoingFiles(ctx, file.Agent, file.Folder)
	must(err)
	must(s.DeleteOutgoing(ctx, file))

	must(s.Note(ctx, "s", domain.Note{Kind: domain.NoteEvent}))
	for n := range 3 {
		_, err := s.RecordPassive(ctx, domain.Passive{
			EventID: chat.EventID(fmt.Sprint("passive", n)), Channel: "telegram", Session: "s", Note: &domain.Note{Kind: domain.NoteHistory}, Limit: 1,
			Transcript: []chat.TranscriptEntry{{Role: chat.User}},
		})
		must(err)
	}
	a := accept(func(in *domain.Inbound) { in.Expiry.Since, in.Model = time.Now().Add(time.Hour), new("opus") })
	must(s.Consumed(ctx, claim().ID))
	accept(func(in *domain.Inbound) { in.Session, in.Parent = "child", "s" })
	if a.Seq == 0 {
		t.Fatalf("not accepted: %+v", a)
	}
	_, err = s.Configure(ctx, "s", func(*domain.Overrides) {})
	must(err)
	must(s.SetLabel(ctx, "s", "label"))
	after, err := s.Follower(ctx, "memory")
	must(err)
	must(s.Followed(ctx, "memory", after))
	_, err = s.TranscriptAfter(ctx, after, 0)
	must(err)
	_, err = s.UsageByDay(ctx, "")
	must(err)
	_, err = s.LatencyByHour(ctx, time.Now())
	must(err)
}

// stepsOfStreaming takes the steps of answers that are sent early, of messages that wait, and of items that were given up.
func stepsOfStreaming(t *testing.T, s *Store, accept func(func(*domain.Inbound)) domain.Acceptance, claim func() *domain.Run) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	to := chat.Address{Channel: "discord", Chat: "anna"}
	deliver := func(end func(d domain.Delivery) error) {
		t.Helper()
		ds, _, err := s.ClaimDeliveriesNow(ctx, "discord", 1)
		must(err)
		must(end(ds[0]))
	}
	run := claim()
	session := run.Session.Key
	waits := func(id chat.MessageID) int64 {
		seq := accept(func(in *domain.Inbound) { in.Session, in.Message.ID, in.Reacts = session, id, true }).Seq
		must(s.PostReceipt(ctx, session, seq, domain.OutboxItem{To: to}))
		return seq
	}
	first, second := waits("m1"), waits("m2")
	accept(func(in *domain.Inbound) {
		in.Session, in.Queue.Mode = session, domain.Steer
	})
	waits("m3")
	preview, err := s.Early(ctx, run.ID, domain.Early{Items: []domain.OutboxItem{{To: to}}, Said: "x", Preview: &domain.OutboxItem{To: to}})
	must(err)
	sent := domain.ToolPost{Key: domain.KeyToolCall.Of("told"), Sent: &domain.SentByTool{Text: "x"}, Items: []domain.OutboxItem{{To: to}}, Files: []domain.OutgoingFile{{Folder: "f", Name: "n"}}}
	_, err = s.PostByTool(ctx, run.ID, sent)
	must(err)
	deliver(func(d domain.Delivery) error { return s.Delivered(ctx, d.ID, []chat.MessageID{"1"}) })
	for range 5 {
		deliver(func(d domain.Delivery) error { return s.Delivered(ctx, d.ID, []chat.MessageID{"1"}) })
	}
	_, _, err = s.SentItem(ctx, preview)
	must(err)
	_, err = s.OldestUndelivered(ctx, to)
	must(err)
	_, err = s.Held(ctx, true, time.Time{}, time.Now(), 20)
	must(err)
	_, err = s.PostFrom(ctx, domain.KeyToolCall.Of("from"), domain.Elsewhere{Said: chat.TranscriptEntry{Text: "x"}}, domain.OutboxItem{To: to})
	must(err)
	must(s.Next(ctx, session, second))
	if err := s.WithdrawEvent(ctx, session, "telegram", "none"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an event that no one sent is withdrawn: %v", err)
	}
	must(s.Withdraw(ctx, session, first, nil))
	m2, err := s.Find(ctx, "telegram", "anna", "m2")
	must(err)
	_, err = s.Amend(ctx, m2.Message, nil, 0)
	must(err)
	_, err = s.WithdrawMessage(ctx, "telegram", "anna", "m3", 0)
	must(err)
	reactions, err := s.Reactions(ctx, "telegram", 1)
	must(err)
	must(s.Reacted(ctx, reactions[0]))
	deliver(func(d domain.Delivery) error { return s.Delivered(ctx, d.ID, nil) })
	deliver(func(d domain.Delivery) error { return s.Delivered(ctx, d.ID, nil) })
	must(s.Complete(ctx, run.ID, domain.Completion{State: domain.RunDone, Items: []domain.OutboxItem{{To: to, Text: "z", Edits: preview, OrSend: true}}}))
	for range 2 {
		deliver(func(d domain.Delivery) error { return s.DeadLetter(ctx, d.ID, "") })
		_, err = s.RequeueAll(ctx)
		must(err)
	}
	deliver(func(d domain.Delivery) error { return s.DeadLetter(ctx, d.ID, "") })
	_, err = s.Unreported(ctx, session)
	must(err)
	must(s.Complete(ctx, claim().ID, domain.Completion{State: domain.RunDone, Reported: []int64{1}}))
	_, err = s.DiscardAll(ctx)
	must(err)
	deliver(func(d domain.Delivery) error { return s.Delivered(ctx, d.ID, nil) })
}

// stepsOfFiles takes the steps of files whose contents are in the database, until there is no space left for them.
func stepsOfFiles(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		content := rand.Text()
		must(s.PutChunk(ctx, "telegram", content, 0, []byte("x")))
		must(s.PutContent(ctx, "telegram", chat.Media{Ref: "c"}, domain.Content{Name: content, Size: 1}))
	}
	c, err := s.Content(ctx, "telegram", "c")
	must(err)
	_, err = s.Chunk(ctx, "telegram", c.Name, 0)
	must(err)
	_, err = s.ContentUse(ctx)
	must(err)
	for _, instance := range []string{"", "telegram"} {
		_, err = s.OldestContents(ctx, instance, domain.StoredFile{}, 1)
		must(err)
	}
	must(s.DropContent(ctx, "telegram", "c", ""))
	must(s.sweepContents(ctx))
}

// scans returns what a query looks at that may be a whole table, as "SCAN table" or "SCAN table USING INDEX index", and, in SQLite, what
// it sorts.
func scans(t *testing.T, s *Store, query string) (found []string) {
	t.Helper()
	if os.Getenv(inPostgres) != "" {
		return serverScans(serverPlan(t, s, query))
	}
	err := s.db.View(t.Context()).Each("EXPLAIN QUERY PLAN "+query, make([]any, parametersOf(query)), func(rows engine.Rows) error {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			return err
		}
		if strings.HasPrefix(line, "SCAN ") || strings.Contains(line, "TEMP B-TREE") {
			found = append(found, strings.Replace(line, " COVERING", "", 1))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

var (
	tableScan = regexp.MustCompile(`Seq Scan on (\w+)`)
	indexScan = regexp.MustCompile(`Index (?:Only )?Scan (?:Backward )?using (\w+) on (\w+)`)
)

// serverScans returns what a plan of PostgreSQL looks at as a whole: a table, or an index without a condition.
func serverScans(plan []string) (found []string) {
	for i, line := range plan {
		if table := tableScan.FindStringSubmatch(line); table != nil {
			found = append(found, "SCAN "+table[1])
		}
		index := indexScan.FindStringSubmatch(line)
		if index != nil && (i+1 == len(plan) || !strings.Contains(plan[i+1], "Index Cond")) {
			found = append(found, "SCAN "+index[2]+" USING INDEX "+index[1])
		}
	}
	return found
}

// serverPlan returns how PostgreSQL would do a query whatever its parameters are, if no table could be scanned for less.
func serverPlan(t *testing.T, s *Store, query string) (lines []string) {
	t.Helper()
	call := "q"
	if n := parametersOf(query); n > 0 {
		call = "q (" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
	}
	undo := errors.New("undo")
	err := engine.Change(t.Context(), s.db, "plan", func(t *engine.Tx) error {
		for _, statement := range []string{
			"SET LOCAL enable_seqscan = off", "SET LOCAL plan_cache_mode = force_generic_plan", "DEALLOCATE ALL", "PREPARE q AS " + query,
		} {
			if _, err := t.Exec(statement); err != nil {
				return err
			}
		}
		if err := t.Each("EXPLAIN (COSTS OFF) EXECUTE "+call, nil, func(rows engine.Rows) error {
			var line string
			defer func() { lines = append(lines, line) }()
			return rows.Scan(&line)
		}); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatalf("%s: %v", query, err)
	}
	return lines
}

// parametersOf is the number of a query's parameters.
func parametersOf(query string) (n int) {
	for strings.Contains(query, fmt.Sprintf("?%d", n+1)) {
		n++
	}
	return n
}
