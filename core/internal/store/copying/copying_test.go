package copying_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/copying"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// file returns the path of a new database, in a folder of its own.
func file(t *testing.T) string { return filepath.Join(t.TempDir(), store.File) }

// used returns the path of a database that a host has used.
func used(t *testing.T) string {
	t.Helper()
	return written(t, usedFile)
}

// filled returns the path of one that has rows in every table, too.
func filled(t *testing.T) string {
	t.Helper()
	return written(t, filledFile)
}

func written(t *testing.T, template func() ([]byte, error)) string {
	t.Helper()
	data, err := template()
	if err != nil {
		t.Fatal(err)
	}
	path := file(t)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// usedFile and filledFile are the files of such databases. To make one takes a second under the race detector.
var (
	usedFile   = sync.OnceValues(func() ([]byte, error) { return made(nil, use) })
	filledFile = sync.OnceValues(func() ([]byte, error) {
		data, err := usedFile()
		if err != nil {
			return nil, err
		}
		return made(data, fill)
	})
)

// made returns the file that a function makes of another one, or of none.
func made(of []byte, change func(ctx context.Context, path string) error) ([]byte, error) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, store.File)
	if of != nil {
		if err := os.WriteFile(path, of, 0o600); err != nil {
			return nil, err
		}
	}
	if err := change(context.Background(), path); err != nil { // it is for all tests
		return nil, err
	}
	return os.ReadFile(path)
}

// use accepts messages in a new store, answers one, and leaves one that waits. The answer was sent, so that the outbox is empty, and its
// next id is not the first.
func use(ctx context.Context, path string) (err error) {
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for n := range 2 {
		if _, err := s.Accept(ctx, message(n)); err != nil {
			return err
		}
	}
	var run *domain.Run
	if err := s.Claim(ctx, domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil {
		return err
	}
	if err := s.Complete(ctx, run.ID, domain.Completion{
		State: domain.RunDone, Items: []domain.OutboxItem{{To: run.Head.Message.Address(), Text: "Grüße, 世界"}},
	}); err != nil {
		return err
	}
	list, err := s.ClaimDeliveries(ctx, "telegram", 10)
	if err != nil || len(list) != 1 {
		return fmt.Errorf("sends %+v, %w", list, err)
	}
	return s.Delivered(ctx, list[0].ID, nil)
}

func claim(t *testing.T, s *store.Store) (run *domain.Run) {
	t.Helper()
	if err := s.Claim(t.Context(), domain.TurnLane, domain.Anybodys, func(r *domain.Run) { run = r }); err != nil {
		t.Fatal(err)
	}
	return run
}

func message(n int) domain.Inbound {
	return domain.Inbound{
		EventID: chat.EventID(fmt.Sprint("event", n)), Session: "telegram:anna", Lane: domain.TurnLane,
		Message: domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "anna", Kind: chat.Direct}, Sender: chat.Sender{ID: "anna"}, Text: "hello"},
	}
}

// server returns a new database of a server, as a DSN and as one to copy.
func server(t *testing.T) (string, copying.Server) {
	t.Helper()
	dsn := postgrestest.Shared(t).Database(t)
	s, err := copying.NewServer(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return dsn, s
}

func copied(t *testing.T, from, to copying.Database) map[string]copying.Table {
	t.Helper()
	done, err := copying.Copy(t.Context(), copying.Options{From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]copying.Table{}
	for _, table := range done {
		tables[table.Name] = table
	}
	return tables
}

func refused(t *testing.T, opts copying.Options, want string) {
	t.Helper()
	if _, err := copying.Copy(t.Context(), opts); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got the error %v, want %q", err, want)
	}
}

// texts are what rows of tests have in their columns of text.
var texts = []string{"", "ünïcödé 🦀 \u202e", "quote ' \" \\ ?1 $1 \n\t", "\uFFFD\x01\x7f", "Z", "a", "ä", "\U0010FFFF"}

// fill puts rows into each table of the database at path, whatever its columns are.
func fill(ctx context.Context, path string) error {
	return sqlite.Edit(ctx, path, func(tx *engine.Tx) error {
		tables, _, err := sqlite.Tables(tx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			if table.Name == "schema_version" || table.Name == "store" {
				continue
			}
			if err := fillTable(tx, table); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

func fillTable(tx *engine.Tx, table engine.Table) error {
	optional := map[string]bool{}
	err := tx.Each(`SELECT name FROM pragma_table_info('`+table.Name+`') WHERE "notnull" = 0 AND pk = 0`, nil, func(r engine.Rows) error {
		var name string
		err := r.Scan(&name)
		optional[name] = true
		return err
	})
	if err != nil {
		return err
	}
	var names, places []string
	for i, c := range table.Columns {
		names, places = append(names, `"`+c.Name+`"`), append(places, fmt.Sprint("?", i+1))
	}
	const rows = 60 // a group, and some
	for n := range rows {
		var args []any
		for i, c := range table.Columns {
			switch {
			case optional[c.Name] && n%3 == 0:
				args = append(args, nil)
			case c.Kind == engine.Text:
				args = append(args, fmt.Sprint(texts[(n+i)%len(texts)], n)) // no two rows have the same key
			case c.Kind == engine.Bytes:
				args = append(args, []byte{0, 255, byte(n)}[:n%4])
			case c.Name == "failed": // a truth, which is no BIGINT in the one table that has it
				args = append(args, n%2)
			case slices.Contains(table.Key, c.Name):
				args = append(args, 1000+n)
			default:
				args = append(args, []int64{0, int64(n), -1, math.MaxInt64, math.MinInt64}[n%5])
			}
		}
		if _, err := tx.Exec(`INSERT INTO "`+table.Name+`" (`+strings.Join(names, ", ")+`) VALUES (`+strings.Join(places, ", ")+`)`, args...); err != nil {
			return err
		}
	}
	return nil
}

// Everything comes to the server and back, in all tables that there are.
// Behaviour: store-copy.
func TestThereAndBackAgain(t *testing.T) {
	t.Parallel()
	dsn, inServer := server(t)
	from, back := filled(t), file(t)
	before := rowsOf(t, from)
	counters := countersOf(t, from)
	there := copied(t, copying.File(from), inServer)
	if diff := cmp.Diff(before, rowsOf(t, from)); diff != "" {
		t.Errorf("the source (-before +after):\n%s", diff)
	}
	delete(before, "schema_version")
	for name, rows := range before {
		if len(rows) == 0 {
			t.Errorf("the test has put nothing into %s", name)
		}
		if got := there[name]; got.Rows != int64(len(rows)) || len(got.Digest) != 64 || got.Replaced != 0 {
			t.Errorf("copied %+v of %d rows", got, len(rows))
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(there))); diff != "" {
		t.Errorf("tables (-there +copied):\n%s", diff)
	}
	if diff := cmp.Diff(there, copied(t, inServer, copying.File(back))); diff != "" {
		t.Errorf("digests (-there +back):\n%s", diff)
	}
	after := rowsOf(t, back)
	delete(after, "schema_version")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("rows (-before +there and back):\n%s", diff)
	}
	if diff := cmp.Diff(counters, countersOf(t, back)); diff != "" {
		t.Errorf("greatest ids (-before +there and back):\n%s", diff)
	}
	usable(t, dsn)
}

// rowsOf returns the rows of all tables, in an order that does not depend on how they came there.
func rowsOf(t *testing.T, path string) map[string][]storetest.Row {
	t.Helper()
	all := storetest.Rows(t, path)
	for _, rows := range all {
		slices.SortFunc(rows, func(a, b storetest.Row) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return all
}

// usable opens and closes the store on a server.
func usable(t *testing.T, dsn string) {
	t.Helper()
	s, err := store.OpenServer(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func countersOf(t *testing.T, path string) (counters map[string]int64) {
	t.Helper()
	err := sqlite.Read(t.Context(), path, func(from engine.Querier) (err error) {
		counters, err = sqlite.Counters(from)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return counters
}

// A host goes on in the copy where it was: it knows what it has seen, answers what waits, and gives no id again.
// Behaviour: store-copy.
func TestAHostGoesOnInTheCopy(t *testing.T) {
	t.Parallel()
	goOn := func(t *testing.T, s *store.Store, runs, items int64) {
		t.Helper()
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if a, err := s.Accept(t.Context(), message(0)); err != nil || !a.Duplicate {
			t.Errorf("a known message: %+v, %v", a, err)
		}
		storetest.Accept(t, s, message(int(runs)+2))
		run := claim(t, s)
		if run.ID != runs+1 {
			t.Errorf("claimed %+v, want run %d", run, runs+1)
		}
		if err := s.Complete(t.Context(), run.ID, domain.Completion{
			State: domain.RunDone, Items: []domain.OutboxItem{{To: run.Head.Message.Address(), Text: "again"}},
		}); err != nil {
			t.Fatal(err)
		}
		list, err := s.ClaimDeliveries(t.Context(), "telegram", 10)
		if err != nil || len(list) != 1 || list[0].ID != items+1 {
			t.Fatalf("sends %+v, %v; want item %d", list, err, items+1)
		}
		if err := s.Delivered(t.Context(), list[0].ID, nil); err != nil {
			t.Error(err)
		}
	}
	dsn, inServer := server(t)
	copied(t, copying.File(used(t)), inServer)
	s, err := store.OpenServer(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	goOn(t, s, 1, 1)
	back := file(t)
	copied(t, inServer, copying.File(back))
	if s, err = store.Open(t.Context(), back, store.Options{}); err != nil {
		t.Fatal(err)
	}
	goOn(t, s, 2, 2)
}

// An id that was written, and not given by the server, is not given again either.
// Behaviour: store-copy.
func TestIDsThatTheServerHasNotGiven(t *testing.T) {
	t.Parallel()
	dsn, inServer := server(t)
	copied(t, copying.File(used(t)), inServer)
	execute(t, dsn, `INSERT INTO runs (id, session, lane, seq, channel, event_id, state, started_at) VALUES (100, 's', 'turn', 1, 'c', 'e', 'done', 1)`)
	back := file(t)
	copied(t, inServer, copying.File(back))
	if got := countersOf(t, back)["runs"]; got != 100 {
		t.Errorf("the greatest id is %d", got)
	}
}

// follower calls a function after so many calls of the watcher's method.
type follower struct {
	copied, compared, same func()
}

func (f follower) Copied(string, int64) {
	if f.copied != nil {
		f.copied()
	}
}

func (f follower) Compared(string, int64) {
	if f.compared != nil {
		f.compared()
	}
}

func (f follower) Same(copying.Table) {
	if f.same != nil {
		f.same()
	}
}

// A copy that was interrupted is no store: no host opens it, and it is not copied or copied into.
// Behaviour: store-copy-interrupted.
func TestAnInterruptedCopy(t *testing.T) {
	t.Parallel()
	dsn, inServer := server(t)
	from, unfinished := filled(t), file(t)
	for name, when := range map[string]func(stop func()) follower{
		"while it copies":   func(stop func()) follower { return follower{copied: stop} },
		"while it compares": func(stop func()) follower { return follower{same: stop} },
	} {
		t.Run(name, func(t *testing.T) {
			dsn, to := server(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if _, err := copying.Copy(ctx, copying.Options{From: copying.File(from), To: to, Watcher: when(stop)}); !errors.Is(err, context.Canceled) {
				t.Fatalf("the copy: %v", err)
			}
			if _, err := store.OpenServer(t.Context(), dsn, store.Options{}); !errors.Is(err, engine.ErrUnfinished) {
				t.Errorf("a host: %v", err)
			}
			refused(t, copying.Options{From: copying.File(from), To: to}, "unfinished copy")
			refused(t, copying.Options{From: to, To: copying.File(file(t))}, "unfinished copy")
		})
	}
	copied(t, copying.File(from), inServer)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if _, err := copying.Copy(ctx, copying.Options{From: inServer, To: copying.File(unfinished), Watcher: follower{copied: stop}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the copy: %v", err)
	}
	if _, err := store.Open(t.Context(), unfinished, store.Options{}); !errors.Is(err, engine.ErrUnfinished) {
		t.Errorf("a host: %v", err)
	}
	refused(t, copying.Options{From: inServer, To: copying.File(unfinished)}, "unfinished copy")
	usable(t, dsn)
}

// What has changed in the target while it was copied is found.
// Behaviour: store-copy, store-copy-interrupted.
func TestADamagedCopy(t *testing.T) {
	t.Parallel()
	dsn, to := server(t)
	first := true
	_, err := copying.Copy(t.Context(), copying.Options{From: copying.File(filled(t)), To: to, Watcher: follower{same: func() {
		if !first {
			return
		}
		first = false // everything was copied, and one table, which is none of these, was compared
		for _, damage := range []string{
			`INSERT INTO allowed VALUES ('a', 'b', 1)`,
			`UPDATE claude_sessions SET started_at = 0 WHERE id = (SELECT MIN(id) FROM claude_sessions WHERE started_at IS NULL)`,
			`UPDATE jobs SET title = title || ' ' WHERE id = (SELECT MAX(id) FROM jobs)`,
			`DELETE FROM media WHERE instance = (SELECT MIN(instance) FROM media)`,
			`UPDATE state SET value = value || '\x00'::bytea WHERE key = (SELECT MIN(key) FROM state)`,
			`UPDATE transcript SET said_at = said_at + 1 WHERE id = (SELECT MIN(id) FROM transcript)`,
		} {
			execute(t, dsn, damage)
		}
	}}})
	if want := "no host uses it: delete it, and copy again: it differs from "; err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), " in allowed, claude_sessions, jobs, media, state, transcript;") {
		t.Errorf("got %v, want %q, and the tables", err, want)
	}
	if _, err := store.OpenServer(t.Context(), dsn, store.Options{}); !errors.Is(err, engine.ErrUnfinished) {
		t.Errorf("a host: %v", err)
	}
}

// What the server has committed is there after a kill, and so is what says that the copy is unfinished.
// Behaviour: store-copy-interrupted.
func TestTheServerIsKilled(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	dsn := server.Database(t)
	to, err := copying.NewServer(dsn)
	if err != nil {
		t.Fatal(err)
	}
	killed := false
	_, err = copying.Copy(t.Context(), copying.Options{From: copying.File(filled(t)), To: to, Watcher: follower{copied: func() {
		if !killed {
			server.Kill(t)
		}
		killed = true
	}}})
	if err == nil || !strings.Contains(err.Error(), "is not finished, and no host uses it: delete it, and copy again") {
		t.Errorf("the copy: %v", err)
	}
	server.Start(t)
	if _, err := store.OpenServer(t.Context(), dsn, store.Options{}); !errors.Is(err, engine.ErrUnfinished) {
		t.Errorf("a host: %v", err)
	}
}

func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if tag, err := conn.Exec(t.Context(), statement); err != nil || tag.RowsAffected() != 1 && !strings.HasPrefix(statement, "CREATE") {
		t.Fatalf("%s: %v, %v", statement, tag, err)
	}
}

// What cannot be copied is refused before anything is changed.
// Behaviour: store-copy-refuses.
func TestRefused(t *testing.T) {
	t.Parallel()
	dsn, inServer := server(t)
	from := used(t)
	t.Run("the same engine", func(t *testing.T) {
		refused(t, copying.Options{From: copying.File(from), To: copying.File(file(t))}, "both are SQLite: use `clawhost backup`")
		refused(t, copying.Options{From: inServer, To: inServer}, "both are PostgreSQL: use pg_dump")
	})
	t.Run("no source", func(t *testing.T) {
		missing := file(t)
		refused(t, copying.Options{From: copying.File(missing), To: inServer}, "there is no database "+missing)
		if _, err := os.Stat(missing); err == nil {
			t.Error("it was made")
		}
		refused(t, copying.Options{From: inServer, To: copying.File(missing)}, "is no store of clawhost, or cannot be read as one")
		if _, err := os.Stat(missing); err == nil {
			t.Error("a target was made")
		}
		if err := os.WriteFile(missing, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, copying.Options{From: copying.File(missing), To: inServer}, "is no store of clawhost, or cannot be read as one")
	})
	t.Run("a source in use", func(t *testing.T) {
		s, err := store.Open(t.Context(), from, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		refused(t, copying.Options{From: copying.File(from), To: inServer}, "uses "+from+": stop it first")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a source with another schema", func(t *testing.T) {
		older, newer := used(t), used(t)
		set := func(path string, version int) {
			t.Helper()
			if err := sqlite.Edit(t.Context(), path, func(tx *engine.Tx) error {
				_, err := tx.Exec(`UPDATE schema_version SET version = ?1`, version)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		set(older, migrations.Current()-1)
		refused(t, copying.Options{From: copying.File(older), To: inServer}, "start the host with this version once, stop it, and copy again")
		set(newer, migrations.Current()+1)
		refused(t, copying.Options{From: copying.File(newer), To: inServer}, "written by a newer clawhost")
	})
	t.Run("a target without UTF-8", func(t *testing.T) {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User("admin") // whom the server of the tests knows
		execute(t, u.String(), `CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`)
		u.Path = "/latin"
		to, err := copying.NewServer(u.String())
		if err != nil {
			t.Fatal(err)
		}
		refused(t, copying.Options{From: copying.File(from), To: to}, "the database has the encoding LATIN1, which does not hold all texts")
	})
	t.Run("a target with other tables", func(t *testing.T) {
		dsn, to := server(t)
		execute(t, dsn, `CREATE TABLE invoices (id BIGINT PRIMARY KEY)`)
		refused(t, copying.Options{From: copying.File(from), To: to}, "different tables: invoices")
	})
	// The target is new after all that.
	copied(t, copying.File(from), inServer)
	s, err := store.OpenServer(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a server in use", func(t *testing.T) {
		path := file(t)
		refused(t, copying.Options{From: inServer, To: copying.File(path)}, "stop every host first")
		if _, err := os.Stat(path); err == nil {
			t.Error("a target was made")
		}
		refused(t, copying.Options{From: copying.File(from), To: inServer}, "stop every host first")
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("a target that was used", func(t *testing.T) {
		refused(t, copying.Options{From: copying.File(from), To: inServer}, "has been used as a store already, by its tables")
		refused(t, copying.Options{From: inServer, To: copying.File(used(t))}, "has been used as a store already, by its tables")
		// Not even one whose rows are gone.
		dsn, emptied := server(t)
		usable(t, dsn)
		execute(t, dsn, `INSERT INTO runs (session, lane, seq, channel, event_id, state, started_at) VALUES ('s', 'turn', 1, 'c', 'e', 'done', 1)`)
		execute(t, dsn, `DELETE FROM runs`)
		refused(t, copying.Options{From: copying.File(from), To: emptied}, "has been used as a store already, by its tables runs")
	})
	usable(t, dsn)
}

// A text that PostgreSQL does not keep is named, and replaced only if that is wanted.
// Behaviour: store-copy-text.
func TestTextsThatPostgresDoesNotKeep(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"NUL": "a\x00b", "no UTF-8": "a\xffb"} {
		t.Run(name, func(t *testing.T) {
			from := used(t)
			if err := sqlite.Edit(t.Context(), from, func(tx *engine.Tx) error {
				_, err := tx.Exec(`INSERT INTO transcript (id, session, role, text, said_at) VALUES (77, 'telegram:anna', 1, ?1, 1)`, text)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			_, to := server(t)
			refused(t, copying.Options{From: copying.File(from), To: to}, "the row with id 77 of the table transcript: PostgreSQL does not keep the text in its column text, ")
			dsn, to := server(t)
			done, err := copying.Copy(t.Context(), copying.Options{From: copying.File(from), To: to, Replace: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range done {
				if want := table.Name == "transcript"; (table.Replaced == 1) != want {
					t.Errorf("replaced %+v", table)
				}
			}
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			var got string
			if err := conn.QueryRow(t.Context(), `SELECT text FROM transcript WHERE id = 77`).Scan(&got); err != nil || got != "a\uFFFDb" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// progress records how a table was copied.
type progress struct {
	follower
	rows map[string][]int64
}

func (p progress) Copied(table string, rows int64) { p.rows[table] = append(p.rows[table], rows) }

// Rows of many megabytes are copied as others are, and many rows are not copied at once.
func TestHugeValuesAndManyRows(t *testing.T) {
	t.Parallel()
	from, back := used(t), file(t)
	if err := sqlite.Edit(t.Context(), from, func(tx *engine.Tx) error {
		for n := range 2 {
			if _, err := tx.Exec(`INSERT INTO transcript (session, role, text, said_at) VALUES ('s', 1, ?1, 1)`, strings.Repeat("ä🦀\n", 1<<20)); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO state (instance, key, value, revision) VALUES ('p', ?1, ?2, 1)`, fmt.Sprint(n), make([]byte, 5<<20)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2001)
			INSERT INTO chosen_agents (conversation, agent) SELECT i, 'main' FROM n`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, inServer := server(t)
	follow := progress{rows: map[string][]int64{}}
	there, err := copying.Copy(t.Context(), copying.Options{From: copying.File(from), To: inServer, Watcher: follow})
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string][]int64{"state": {1, 2}, "chosen_agents": {2000, 2001}} {
		if !slices.Equal(follow.rows[table], want) {
			t.Errorf("copied %v rows of %s, want %v", follow.rows[table], table, want)
		}
	}
	again, err := copying.Copy(t.Context(), copying.Options{From: inServer, To: copying.File(back)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, again); diff != "" {
		t.Errorf("digests (-there +back):\n%s", diff)
	}
}
