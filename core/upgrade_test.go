package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/storetest"
)

// The states that old builds left when they were killed under load are continued by the new one: what waited is answered once and in
// order, and nothing that was kept is lost.

// upgrade is a state of an old build, and the new build that takes it up.
type upgrade struct {
	*crashWorld
	upgradeRecord
	exchange *Exchange
	before   map[string][]storetest.Row // the old build's
	files    map[string][]byte          // of people and plugins
}

func unpackUpgrade(t *testing.T, commit string) *upgrade {
	t.Helper()
	dir, err := os.MkdirTemp("", "crash") // The control socket's path must be short.
	if err != nil {
		t.Fatal(err)
	}
	unpack(t, filepath.Join("testdata", "upgrade", commit+".tar.gz"), dir)
	u := &upgrade{crashWorld: &crashWorld{bin: crashBinaries(t), dir: dir, killed: map[string]int{}}}
	described, err := os.ReadFile(filepath.Join(dir, "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(described, &u.upgradeRecord); err != nil {
		t.Fatal(err)
	}
	storetest.Later(t, u.database(), time.Since(time.UnixMilli(u.At)))
	u.before = rowsOfCopy(t, u.database())
	u.files = readFiles(t, filepath.Join(dir, "state", "media"))
	maps.Copy(u.files, readFiles(t, filepath.Join(dir, "state", "plugins")))
	u.exchange = newExchange(t, func(ExchangeSent) string { return "" })
	u.exchange.events, u.exchange.taken = slices.Clone(u.Events), u.Taken
	config := upgradeConfig(dir, u.bin, u.exchange.address)
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if u.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if u.host != nil && u.running() {
			_ = u.host.Process.Kill()
			<-u.gone
		}
		u.close(t)
	})
	return u
}

func (u *upgrade) database() string { return filepath.Join(u.dir, "state", "clawhost.db") }

// rowsOfCopy reads the rows of a database that no host has, and leaves its files as they are.
func rowsOfCopy(t *testing.T, path string) map[string][]storetest.Row {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if errors.Is(err, fs.ErrNotExist) && suffix != "" {
			continue // the host has ended in order
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "copy"+suffix), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return storetest.Rows(t, filepath.Join(dir, "copy"))
}

func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		found[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Behaviour: upgrade.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, commit := range oldBuilds {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			u := unpackUpgrade(t, commit)
			u.recorded(t)
			u.takeUp(t)
		})
	}
}

// The host is killed before, within and after each migration, one after the other in the same folder, and goes on with the next.
// Behaviour: upgrade.
func TestUpgradeKilledAtEachMigration(t *testing.T) {
	t.Parallel()
	for _, commit := range oldBuilds {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			u := unpackUpgrade(t, commit)
			for schema := u.schema(t); schema < newestSchema(t); schema++ {
				for pass, want := range []int{schema, schema, schema + 1} {
					u.dies(t, pass+1)
					if got := u.schema(t); got != want {
						t.Fatalf("killed at pass %d of migration %d, the schema is %d, want %d", pass+1, schema+1, got, want)
					}
				}
			}
			u.takeUp(t)
		})
	}
}

// A state that was backed up before the new build continued it can be restored as it was, for the build that it is of: that refuses what the new
// one has made of it.
// Behaviour: upgrade-back.
func TestUpgradeBack(t *testing.T) {
	t.Parallel()
	for _, commit := range oldBuilds {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			u := unpackUpgrade(t, commit)
			schema := u.schema(t)
			u.goBack(t)
			if got := u.schema(t); got != schema {
				t.Errorf("the schema is %d, want %d", got, schema)
			}
			compareRows(t, u.before, rowsOfCopy(t, u.database()), nil)
			u.filesKept(t)
		})
	}
}

// goBack makes a backup, takes the state up, and restores the backup.
func (u *upgrade) goBack(t *testing.T) {
	t.Helper()
	archive := filepath.Join(u.dir, "backup.tar.gz")
	u.run(t, "backup", archive)
	u.start(t, "")
	u.exchange.hears(t, "slow", "m-slow-3-")
	_ = u.host.Process.Kill() // in order, it would wait for the turn that asks
	<-u.gone
	if got := u.schema(t); got != newestSchema(t) {
		t.Fatalf("the schema is %d, want %d", got, newestSchema(t))
	}
	u.run(t, "restore", "-replace", archive)
}

// A host refuses a database of a newer one with what to do, and changes nothing in it.
// Behaviour: upgrade-back.
func TestUpgradeRefusesNewer(t *testing.T) {
	t.Parallel()
	u := unpackUpgrade(t, oldBuilds[len(oldBuilds)-1])
	if err := storetest.MakeNewer(u.database()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(u.database())
	if err != nil {
		t.Fatal(err)
	}
	u.start(t, "")
	select {
	case <-u.gone:
	case <-time.After(time.Minute):
		_ = u.host.Process.Kill()
		<-u.gone
	}
	said, err := os.ReadFile(u.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	if code := u.host.ProcessState.ExitCode(); code != 1 || !bytes.Contains(said, []byte("written by a newer clawhost")) || !bytes.Contains(said, []byte("upgrade clawhost")) {
		t.Errorf("the host ended with %d, saying\n%s", code, said)
	}
	if after, err := os.ReadFile(u.database()); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the database has changed: %v", err)
	}
	u.filesKept(t)
}

// The host is killed once, at each of these places, and takes the state up.
// Behaviour: upgrade.
func TestUpgradeKilledOnce(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("make test-long kills the host at each place; make test, at all of them in turn")
	}
	for _, commit := range oldBuilds {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			for pass := 1; ; pass++ {
				u := unpackUpgrade(t, commit)
				if pass > 3*(newestSchema(t)-u.schema(t)) {
					return
				}
				if !t.Run(fmt.Sprint(pass), func(t *testing.T) {
					u.dies(t, pass)
					u.takeUp(t)
				}) {
					return
				}
			}
		})
	}
}

// dies has a host kill itself while it migrates.
func (u *upgrade) dies(t *testing.T, pass int) {
	t.Helper()
	u.start(t, fmt.Sprintf("%d:migrating", pass))
	select {
	case <-u.gone:
	case <-time.After(time.Minute):
		_ = u.host.Process.Kill()
		<-u.gone
		t.Fatalf("the host did not pass migration's place %d", pass)
	}
	if state := u.host.ProcessState.String(); !strings.Contains(state, "killed") {
		t.Fatalf("the host ended by itself: %s", state)
	}
}

// schema is the version of the database, which no host has.
func (u *upgrade) schema(t *testing.T) (version int) {
	t.Helper()
	rows := rowsOfCopy(t, u.database())["schema_version"]
	if len(rows) != 1 {
		t.Fatalf("versions %v", rows)
	}
	if _, err := fmt.Sscan(rows[0]["version"], &version); err != nil {
		t.Fatal(err)
	}
	return version
}

func newestSchema(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("internal/store/migrations/*.sql")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return len(list)
}

// recorded checks that the state has what the test is about.
func (u *upgrade) recorded(t *testing.T) {
	t.Helper()
	for _, table := range []string{
		"inbox", "outbox", "runs", "lanes", "out_lanes", "sessions", "claude_sessions", "transcript", "grants", "questions", "pairings", "allowed",
		"dead_pieces", "media", "state", "dedupe", "sent", "processes", "notes", "usage_days",
	} {
		if len(u.before[table]) == 0 {
			t.Errorf("the recorded state has no row in %s", table)
		}
	}
	if !slices.ContainsFunc(u.before["runs"], func(r storetest.Row) bool { return r["state"] == "running" }) {
		t.Error("no turn ran when the state was recorded")
	}
	if !slices.ContainsFunc(u.before["out_lanes"], func(r storetest.Row) bool { return r["sending"] != "" }) {
		t.Error("nothing was being sent when the state was recorded")
	}
	if len(u.files) < 3 {
		t.Errorf("the recorded state has %d files", len(u.files))
	}
}

var (
	pairingCode  = regexp.MustCompile(`\b[A-Z2-9]{8}\b`)
	messageToken = regexp.MustCompile(`m-\w+-\d+-`)
)

// takeUp has the new build answer what waits, and compares what it keeps with what there was.
func (u *upgrade) takeUp(t *testing.T) {
	t.Helper()
	u.start(t, "")
	x := u.exchange
	answers := map[string]string{} // the messages without an answer, and their chats
	for _, e := range u.Events {
		if token := messageToken.FindString(e.Text); token != "" && e.Chat != "quinn" {
			answers[token] = e.Chat
		}
	}
	for _, s := range u.Sent {
		if s.Outcome == "" || s.Outcome == "forbidden" {
			delete(answers, messageToken.FindString(s.Text))
		}
	}
	if len(answers) < 10 {
		t.Errorf("only %v had no answer", answers)
	}
	for token, chat := range answers {
		x.hears(t, chat, token)
	}
	u.shown(t)

	// The question is still open, and its answer counts.
	x.direct("quinn", "/answer "+u.Question+" once")
	x.hears(t, "quinn", "m-quinn-1-")
	x.hears(t, "quinn", "m-quinn-2-")
	if done, err := os.ReadFile(filepath.Join(u.dir, "done")); err != nil || string(done) != "quinn\n" {
		t.Errorf("done is %q, %v", done, err)
	}
	u.kept(t)

	// What people had goes on: the conversation, the grant, the request to be let in, the dead letter.
	x.direct("ann", `[[stub {"say": "m-ann-4- $HISTORY"}]] which word?`)
	if said := x.hears(t, "ann", "m-ann-4-").Text; !strings.Contains(said, "the word is heron") {
		t.Errorf("Claude knows only %q", said)
	}
	x.direct("ann", ask("m-ann-5-", "echo ann >> $HOME/done"))
	x.hears(t, "ann", "m-ann-5-")
	u.run(t, "pairing", "approve", u.Code)
	x.direct("sid", "m-sid-1- thank you")
	x.hears(t, "sid", "m-sid-1-")
	u.run(t, "queue", "retry", "all")
	x.hears(t, "gone", "m-gone-1-")
	u.end(t)
	u.once(t)
	after := storetest.Rows(t, u.database())
	for _, table := range []string{"inbox", "outbox", "lanes", "out_lanes", "dead_pieces"} {
		waits := func(r storetest.Row) bool { return table != "lanes" || r["queued"] != "0" || r["run_id"] != "" }
		if at := slices.IndexFunc(after[table], waits); at >= 0 {
			t.Errorf("%s still has %v", table, after[table][at])
		}
	}
}

// once compares what people have read, before and after, with what they have written.
func (u *upgrade) once(t *testing.T) {
	t.Helper()
	events, taken, sent := u.exchange.now()
	if taken != len(events) {
		t.Errorf("the host took %d of %d events", taken, len(events))
	}
	texts := map[string]string{}     // by the key
	keys := map[string][]string{}    // by the message that is answered
	inOrder := map[string][]string{} // the messages that are answered, by chat and thread
	certain := map[string]bool{}     // the keys that were sent with a known outcome
	repeated := map[string]int{}     // how often a key whose outcome was known came again
	add := func(s ExchangeSent) {
		if before, again := texts[s.Key]; again {
			if before != s.Text {
				t.Errorf("the key %s has the texts %q and %q", s.Key, before, s.Text)
			}
			if certain[s.Key] {
				repeated[s.Key]++
			}
			certain[s.Key] = certain[s.Key] || s.Outcome == ""
			return
		}
		texts[s.Key], certain[s.Key] = s.Text, s.Outcome == ""
		token := messageToken.FindString(s.Text)
		if token == "" || strings.Contains(s.Text, "/answer") {
			return
		}
		keys[token] = append(keys[token], s.Key)
		place := s.Chat + "/" + s.Thread
		inOrder[place] = append(inOrder[place], token)
	}
	for _, s := range slices.Concat(u.Sent, sent) {
		add(s)
	}
	wanted := map[string][]string{}
	for _, e := range events {
		token := messageToken.FindString(e.Text)
		if token == "" {
			continue
		}
		place := e.Chat + "/" + e.Thread
		wanted[place] = append(wanted[place], token)
		if len(keys[token]) != 1 {
			t.Errorf("%s was answered %d times: %q", token, len(keys[token]), keys[token])
		}
	}
	for place, want := range wanted {
		if !slices.Equal(inOrder[place], want) {
			t.Errorf("%s: answered were %v, want %v", place, inOrder[place], want)
		}
	}
	// A process that is killed between a send and its record sends it again: at most the one of each chat that was on its way.
	for key, times := range repeated {
		if times > 1 || !u.wasSending(key) {
			t.Errorf("%q was sent %d times more", texts[key], times)
		}
	}
}

// wasSending reports whether the old build was sending what has a key.
func (u *upgrade) wasSending(key string) bool {
	_, id, _ := strings.Cut(key, "-")
	return slices.ContainsFunc(u.before["out_lanes"], func(r storetest.Row) bool { return r["sending"] == id })
}

// lasting are the columns that stay as they are while the host works, of the tables whose rows are kept; nil: all.
var lasting = map[string][]string{
	"sessions":        {"key", "kind", "channel", "chat", "thread", "created_at", "overrides", "label"},
	"claude_sessions": {"id", "session", "begun_at", "parent"},
	"transcript":      nil, "allowed": nil, "pairings": nil, "grants": nil, "media": nil, "moved_chats": nil, "dedupe": nil, "sent": nil,
	"kept_pieces": nil, "starters": nil, "tool_uses": nil, "followers": {"name"}, "histories": {"session"}, "direct_chats": {"channel", "user_id"},
	"agent_messages": nil, "state": {"instance", "key", "value"}, "usage_days": {"day", "model"},
	"dead_pieces": {"id", "channel", "chat", "thread", "text", "created_at", "died_at", "attempts", "error", "reply_to", "run_id", "rest", "session"},
	"questions":   {"id", "session", "digest", "authority", "asker", "body", "created_at"},
	"runs":        {"id", "session", "lane", "seq", "channel", "event_id", "started_at"},
	"store":       {"id"},
	"outbox":      {"channel", "chat", "thread", "text", "reply_to", "run_id", "rest", "created_at"},
}

// passing are tables whose rows go.
var passing = []string{"inbox", "outbox", "lanes", "out_lanes", "processes", "notes", "reactions", "extracts", "outgoing_files", "shown_messages", "state_use", "schema_version"}

// kept compares what the new build has with what the old one had.
func (u *upgrade) kept(t *testing.T) {
	t.Helper()
	for table, rows := range u.before {
		if _, known := lasting[table]; !known && !slices.Contains(passing, table) && len(rows) > 0 {
			t.Errorf("the test does not know what happens to the table %s", table)
		}
	}
	compareRows(t, u.before, storetest.Rows(t, u.database()), passing)
	u.filesKept(t)
}

func (u *upgrade) filesKept(t *testing.T) {
	t.Helper()
	for path, content := range u.files {
		if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, content) {
			t.Errorf("the file %s is %q, %v; it was %q", path, now, err, content)
		}
	}
}

// compareRows reports rows that are not there any more, but for those of some tables.
func compareRows(t *testing.T, before, after map[string][]storetest.Row, but []string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(before)) {
		if slices.Contains(but, table) {
			continue
		}
		have := map[string]int{}
		for _, row := range after[table] {
			have[describe(table, row, before[table])]++
		}
		for _, row := range before[table] {
			described := describe(table, row, before[table])
			if have[described]--; have[described] < 0 {
				t.Errorf("%s has lost %s", table, described)
			}
		}
	}
}

// describe is what lasts of a row, of the columns that the first build has.
func describe(table string, row storetest.Row, of []storetest.Row) string {
	var b strings.Builder
	if len(of) == 0 {
		return ""
	}
	for _, column := range slices.Sorted(maps.Keys(of[0])) {
		if columns := lasting[table]; columns == nil || slices.Contains(columns, column) {
			fmt.Fprintf(&b, "%s=%q ", column, row[column])
		}
	}
	return b.String()
}

// shown compares what the commands show with what there was.
func (u *upgrade) shown(t *testing.T) {
	t.Helper()
	for _, row := range u.before["sessions"] {
		if list := u.run(t, "sessions"); !strings.Contains(list, row["key"]) {
			t.Errorf("sessions does not show %s:\n%s", row["key"], list)
		}
	}
	if list := u.run(t, "queue", "dead"); !strings.Contains(list, "gone") || !strings.Contains(list, "blocked") {
		t.Errorf("queue dead shows\n%s", list)
	}
	if list := u.run(t, "queue"); !strings.Contains(list, "quinn") || !strings.Contains(list, u.Question) {
		t.Errorf("queue shows\n%s", list)
	}
	if status := u.run(t, "status"); !strings.Contains(status, "exchange") {
		t.Errorf("status shows\n%s", status)
	}
	if list := u.run(t, "pairing", "list"); !strings.Contains(list, "sid") || !strings.Contains(list, u.Code) {
		t.Errorf("pairing list shows\n%s", list)
	}
}

// run runs a command of the new build and returns its output.
func (u *upgrade) run(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(u.bin, "clawhost"), append([]string{"-config", filepath.Join(u.dir, "config.hcl")}, args...)...)
	command.Env = []string{"HOME=" + u.dir, "PATH=" + os.Getenv("PATH")}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("clawhost %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
