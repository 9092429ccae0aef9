package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/backup"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// place is a host's files.
type place struct{ state, claude string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	return place{filepath.Join(dir, "state"), filepath.Join(dir, "claude")}
}

func (p place) source() backup.Source {
	return backup.Source{StateDir: p.state, Version: "test", Claude: map[string]string{"main": p.claude, "same": p.claude}}
}

func (p place) target(replace bool) backup.Target {
	return backup.Target{StateDir: p.state, Claude: map[string]string{"main": p.claude}, Replace: replace, Now: time.Now()}
}

func (p place) open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(p.state, store.File), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var anna = chat.Address{Channel: "test", Chat: "anna"}

func inbound(id, text string) domain.Inbound {
	return domain.Inbound{
		EventID: chat.EventID(id), Session: "test:anna", Lane: domain.TurnLane,
		Message: domain.Message{Channel: "test", Chat: chat.Chat{ID: "anna", Kind: chat.Direct}, Sender: chat.Sender{ID: "anna"}, Text: text},
	}
}

// answer answers the next message and returns the id of its conversation.
func answer(t *testing.T, s *store.Store, texts ...string) string {
	t.Helper()
	var run *domain.Run
	if err := s.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil {
		t.Fatal(err)
	}
	var items []domain.OutboxItem
	for _, text := range texts {
		items = append(items, domain.OutboxItem{To: anna, Text: text})
	}
	if err := s.Complete(t.Context(), run.ID, domain.Completion{State: domain.RunDone, Items: items}); err != nil {
		t.Fatal(err)
	}
	return run.Session.ClaudeSession
}

func archiveOf(t *testing.T, p place) []byte {
	t.Helper()
	var archive bytes.Buffer
	if _, err := backup.Write(t.Context(), &archive, p.source()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func restore(t *testing.T, archive []byte, to backup.Target) backup.Restored {
	t.Helper()
	done, err := backup.Restore(t.Context(), bytes.NewReader(archive), to)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// Behaviour: backup, restore.
func TestEverythingIsRestored(t *testing.T) {
	t.Parallel()
	from, to := newPlace(t), newPlace(t)
	s := from.open(t)
	storetest.Accept(t, s, inbound("1", "one"))
	id := answer(t, s, "the answer")
	storetest.Accept(t, s, inbound("2", "two"))
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	write(t, filepath.Join(from.state, "media", "test", "picture"), "a picture")
	if err := os.Chtimes(filepath.Join(from.state, "media", "test", "picture"), old, old); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(from.state, "exports", "one.jsonl"), "an export")
	write(t, filepath.Join(from.state, "plugins", "web", "messages.jsonl"), "messages")
	write(t, filepath.Join(from.state, "plugins", "web", "lock"), "")
	write(t, filepath.Join(from.state, "run", "secret"), "of the running host")
	write(t, filepath.Join(from.claude, "projects", "-work", id+".jsonl"), "a transcript")
	write(t, filepath.Join(from.claude, "projects", "-work", id, "subagents", "one.jsonl"), "a subagent")
	write(t, filepath.Join(from.claude, "projects", "-work", "4f2e6a1c-0f6f-4a53-9be4-2a0d3f2b7a10.jsonl"), "of a terminal")
	write(t, filepath.Join(from.claude, ".credentials.json"), "a login")
	if err := os.Symlink("/etc/passwd", filepath.Join(from.state, "media", "test", "link")); err != nil {
		t.Fatal(err)
	}
	database(t, filepath.Join(from.state, "plugins", "phone", "device.db"), "EXCLUSIVE")
	database(t, filepath.Join(from.state, "plugins", "memory", "main", "index.db"), "NORMAL")

	archive := archiveOf(t, from)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	done := restore(t, archive, to.target(false))
	if done.Uncertain != 1 || done.Aside != "" {
		t.Errorf("restored %+v", done)
	}
	for name, want := range map[string]string{
		to.state + "/media/test/picture":                             "a picture",
		to.state + "/exports/one.jsonl":                              "an export",
		to.state + "/plugins/web/messages.jsonl":                     "messages",
		to.claude + "/projects/-work/" + id + ".jsonl":               "a transcript",
		to.claude + "/projects/-work/" + id + "/subagents/one.jsonl": "a subagent",
	} {
		if got := read(t, name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if info, err := os.Stat(to.state + "/media/test/picture"); err != nil || !info.ModTime().Equal(old) || info.Mode().Perm() != 0o600 {
		t.Errorf("the picture: %v, %v", info, err)
	}
	for _, name := range []string{
		to.state + "/run/secret", to.state + "/media/test/link", to.state + "/plugins/web/lock", to.claude + "/.credentials.json",
		to.claude + "/projects/-work/4f2e6a1c-0f6f-4a53-9be4-2a0d3f2b7a10.jsonl",
	} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was restored: %v", name, err)
		}
	}
	for _, name := range []string{"phone/device.db", "memory/main/index.db"} {
		if got := rowsIn(t, filepath.Join(to.state, "plugins", name)); got != 100 {
			t.Errorf("%s has %d rows, want 100", name, got)
		}
	}
	again := to.open(t)
	if _, _, err := again.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer(t, again, "the second answer")
	if texts := storetest.Texts(t, again, "test"); strings.Join(texts, ";") != "the answer;the second answer" {
		t.Errorf("sent %q", texts)
	}
}

// database makes a database of a plugin that is open until the test ends, with rows that are only in its log.
func database(t *testing.T, name, locking string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+name+"?_pragma=journal_mode(WAL)&_pragma=locking_mode("+locking+")")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (n)"); err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
	}
}

func rowsIn(t *testing.T, name string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What a restored host sends has keys that the host which went on after the backup never used.
func TestKeysAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	from, to := newPlace(t), newPlace(t)
	s := from.open(t)
	storetest.Accept(t, s, inbound("1", "one"))
	answer(t, s, "pending")
	archive := archiveOf(t, from)
	keys := map[string]string{}
	storetest.Accept(t, s, inbound("2", "two"))
	answer(t, s, "of the first host")
	send(t, s, keys)
	restore(t, archive, to.target(false))
	again := to.open(t)
	storetest.Accept(t, again, inbound("3", "three"))
	answer(t, again, "of the second host")
	send(t, again, keys)
	if len(keys) != 3 {
		t.Errorf("the keys are %v", keys)
	}
}

// send delivers all and notes the keys. A key has one text.
func send(t *testing.T, s *store.Store, keys map[string]string) {
	t.Helper()
	for {
		list, err := s.ClaimDeliveries(t.Context(), "test", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if text, again := keys[d.Key]; again && text != d.Item.Text {
				t.Errorf("the key %s has the texts %q and %q", d.Key, text, d.Item.Text)
			}
			keys[d.Key] = d.Item.Text
			if err := s.Delivered(t.Context(), d.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
		if due, err := s.DeliveriesDue(t.Context(), "test"); err != nil || !due {
			return
		}
	}
}

// Transcripts that went on are kept, those that were cut are replaced.
func TestTranscriptsOnlyGrow(t *testing.T) {
	t.Parallel()
	from, to := newPlace(t), newPlace(t)
	s := from.open(t)
	var names []string
	for _, event := range []string{"1", "2"} {
		in := inbound(event, "hello")
		in.Session, in.Message.Chat.ID = "test:"+event, chat.ID(event)
		storetest.Accept(t, s, in)
		names = append(names, filepath.Join("projects", "-work", answer(t, s, "hi")+".jsonl"))
		write(t, filepath.Join(from.claude, names[len(names)-1]), "one\ntwo\n")
	}
	archive := archiveOf(t, from)
	write(t, filepath.Join(to.claude, names[0]), "one\ntwo\nthree\n")
	write(t, filepath.Join(to.claude, names[1]), "one\n")
	if done := restore(t, archive, to.target(false)); done.Kept != 1 {
		t.Errorf("kept %d transcripts, want 1", done.Kept)
	}
	if got := read(t, filepath.Join(to.claude, names[0])); got != "one\ntwo\nthree\n" {
		t.Errorf("the longer transcript has %q", got)
	}
	if got := read(t, filepath.Join(to.claude, names[1])); got != "one\ntwo\n" {
		t.Errorf("the shorter transcript has %q", got)
	}
}

// Behaviour: restore-refuses.
func TestRefusedArchives(t *testing.T) {
	t.Parallel()
	from := newPlace(t)
	s := from.open(t)
	storetest.Accept(t, s, inbound("1", "one"))
	answer(t, s, "the answer")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(from.state, "media", "test", "picture"), "a picture")
	good := archiveOf(t, from)
	newer := newPlace(t)
	newer.open(t)
	database := filepath.Join(t.TempDir(), "newer.db")
	if err := sqlite.Snapshot(t.Context(), filepath.Join(newer.state, store.File), database); err != nil {
		t.Fatal(err)
	}
	if err := storetest.MakeNewer(database); err != nil {
		t.Fatal(err)
	}
	checks := map[string]func(e *entry) bool{ // with sums that fit
		"a damaged database, as it was made": func(e *entry) bool {
			if e.header.Name == "state/clawhost.db" {
				copy(e.content[4096:], strings.Repeat("x", 12_000))
			}
			return e.sum()
		},
		"a newer database, as it was made": func(e *entry) bool { return e.fill("state/clawhost.db", read(t, database)) && e.sum() },
	}
	for name, change := range checks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newPlace(t)
			_, err := backup.Restore(t.Context(), bytes.NewReader(altered(t, good, change)), to.target(false))
			if newer := strings.Contains(name, "newer"); !errors.Is(err, engine.ErrNewer) && newer || !errors.Is(err, backup.ErrDamaged) && !newer {
				t.Errorf("the error is %v", err)
			}
			nothingIn(t, to)
		})
	}
	for name, change := range map[string]func(e *entry) bool{
		"a path out of the folder": func(e *entry) bool { return e.rename("state/media/test/picture", "state/media/../../picture") },
		"an absolute path":         func(e *entry) bool { return e.rename("state/media/test/picture", "/tmp/picture") },
		"another folder":           func(e *entry) bool { return e.rename("state/media/test/picture", "state/run/picture") },
		"a transcript that is none": func(e *entry) bool {
			return e.rename("state/media/test/picture", "claude/main/projects/-work/settings.json")
		},
		"a link": func(e *entry) bool {
			if e.header.Name == "state/media/test/picture" {
				e.header.Typeflag, e.header.Linkname, e.header.Size, e.content = tar.TypeSymlink, "/etc/passwd", 0, nil
			}
			return true
		},
		"another content": func(e *entry) bool { return e.fill("state/media/test/picture", "A picture") },
		"a damaged database": func(e *entry) bool {
			if e.header.Name == "state/clawhost.db" {
				copy(e.content[4096:], strings.Repeat("x", 12_000))
			}
			return true
		},
		"a newer database":  func(e *entry) bool { return e.fill("state/clawhost.db", read(t, database)) },
		"no database":       func(e *entry) bool { return e.header.Name != "state/clawhost.db" },
		"no list":           func(e *entry) bool { return e.header.Name != "files.json" },
		"no head":           func(e *entry) bool { return e.header.Name != "clawhost-backup.json" },
		"a missing file":    func(e *entry) bool { return e.header.Name != "state/media/test/picture" },
		"a later format":    func(e *entry) bool { return e.fill("clawhost-backup.json", `{"format": 2, "version": "9"}`) },
		"a head that grows": func(e *entry) bool { return e.fill("clawhost-backup.json", strings.Repeat(" ", 70_000)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newPlace(t)
			_, err := backup.Restore(t.Context(), bytes.NewReader(altered(t, good, change)), to.target(false))
			if err == nil {
				t.Fatal("it was restored")
			}
			t.Log(err)
			nothingIn(t, to)
		})
	}
	for name, archive := range map[string][]byte{
		"half": good[:len(good)/2], "without an end": good[:len(good)-4], "empty": {}, "more behind": append(bytes.Clone(good), "more"...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newPlace(t)
			if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), to.target(false)); !errors.Is(err, backup.ErrDamaged) {
				t.Errorf("the error is %v", err)
			}
			nothingIn(t, to)
		})
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(altered(t, good, func(*entry) bool { return true })), newPlace(t).target(false)); err != nil {
		t.Errorf("an archive that was not changed: %v", err)
	}
}

// nothingIn fails if a place has more than the lock.
func nothingIn(t *testing.T, p place) {
	t.Helper()
	_ = filepath.WalkDir(filepath.Dir(p.state), func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Base(name) != store.File+".lock" {
			t.Errorf("it left %s", name)
		}
		return nil
	})
}

type entry struct {
	header  *tar.Header
	content []byte
	sums    map[string]string // of the entries before it, and their sizes
	sizes   map[string]int
}

// sum has the list of files name the sums that they have now.
func (e *entry) sum() bool {
	sum := sha256.Sum256(e.content)
	e.sizes[e.header.Name] = len(e.content)
	e.sums[e.header.Name] = hex.EncodeToString(sum[:])
	if e.header.Name != "files.json" {
		return true
	}
	var all struct {
		Files []map[string]any `json:"files"`
	}
	if json.Unmarshal(e.content, &all) != nil {
		return false
	}
	for _, f := range all.Files {
		f["sha256"], f["size"] = e.sums[f["name"].(string)], e.sizes[f["name"].(string)]
	}
	e.content, _ = json.Marshal(all)
	return true
}

func (e *entry) rename(from, to string) bool {
	if e.header.Name == from {
		e.header.Name = to
	}
	e.content = bytes.ReplaceAll(e.content, []byte(`"`+from+`"`), []byte(`"`+to+`"`)) // in the list
	return true
}

func (e *entry) fill(name, content string) bool {
	if e.header.Name == name {
		e.content = []byte(content)
	}
	return true
}

// altered writes an archive again with the entries that change accepts.
func altered(t *testing.T, archive []byte, change func(*entry) bool) []byte {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	from, to := tar.NewReader(unzipped), tar.NewWriter(zipped)
	sums, sizes := map[string]string{}, map[string]int{}
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		e := &entry{h, content, sums, sizes}
		if !change(e) {
			continue
		}
		e.header.Size = int64(len(e.content))
		if err := to.WriteHeader(e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(to.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Behaviour: restore-refuses.
func TestStateIsReplacedOnlyIfTold(t *testing.T) {
	t.Parallel()
	from, to := newPlace(t), newPlace(t)
	if err := from.open(t).Close(); err != nil {
		t.Fatal(err)
	}
	archive := archiveOf(t, from)
	s := to.open(t)
	_, err := backup.Restore(t.Context(), bytes.NewReader(archive), to.target(true))
	if locked, ok := errors.AsType[*sqlite.LockedError](err); !ok {
		t.Errorf("with a host: %v, %v", err, locked)
	}
	storetest.Accept(t, s, inbound("1", "of the old state"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = backup.Restore(t.Context(), bytes.NewReader(archive), to.target(false))
	if holds, ok := errors.AsType[*backup.HoldsError](err); !ok {
		t.Errorf("with a state: %v, %v", err, holds)
	}
	done := restore(t, archive, to.target(true))
	aside := place{state: done.Aside}
	var run *domain.Run
	if err := aside.open(t).Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil || run.Head.Message.Text != "of the old state" {
		t.Errorf("the old state has %+v, %v", run, err)
	}
}

// The archive appears when it is complete.
func TestAnInterruptedBackupLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	from := newPlace(t)
	from.open(t)
	name := filepath.Join(t.TempDir(), "kept.tar.gz")
	write(t, name, "the old one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.WriteFile(ctx, name, from.source()); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if got := read(t, name); got != "the old one" {
		t.Errorf("the file has %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(from.state, backup.ScratchFolder, "*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// slow is an archive's reader that does something before the first byte is written.
type slow struct {
	bytes.Buffer
	first func()
}

func (s *slow) Write(p []byte) (int, error) {
	if s.first != nil {
		s.first()
		s.first = nil
	}
	return s.Buffer.Write(p)
}

// A host that starts while a backup works, and another backup, leave its copies alone. What an interrupted backup has left is removed.
func TestBackupsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	from := newPlace(t)
	from.open(t)
	write(t, filepath.Join(from.state, "media", "test", "picture"), strings.Repeat("a picture", 1<<16))
	write(t, filepath.Join(from.state, backup.ScratchFolder, "copy-1", "left"), "by a backup that was killed")
	first := &slow{first: func() {
		if err := os.RemoveAll(filepath.Join(from.state, "run")); err != nil { // as a host that starts
			t.Error(err)
		}
		if _, err := backup.Write(t.Context(), io.Discard, from.source()); err != nil {
			t.Errorf("the other backup: %v", err)
		}
		if there, _ := filepath.Glob(filepath.Join(from.state, backup.ScratchFolder, "*")); len(there) != 1 {
			t.Errorf("while the first backup works, there is %q", there)
		}
	}}
	if _, err := backup.Write(t.Context(), first, from.source()); err != nil {
		t.Fatal(err)
	}
	if first.first != nil {
		t.Fatal("nothing was written")
	}
	if left, _ := filepath.Glob(filepath.Join(from.state, backup.ScratchFolder, "*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
