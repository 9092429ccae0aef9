package files_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// database is what a store of files needs of the database.
type database interface {
	files.Rows
	files.Contents
}

// memory is a database in memory.
type memory struct {
	mediatest.Rows

	mutex    sync.Mutex
	chunks   map[string][][]byte // by instance/content
	contents map[string]domain.Content
	refs     []domain.StoredFile // oldest first
	failing  int                 // number of reads that fail
	reads    int                 // of chunks
	before   func(ctx context.Context) error
}

func (m *memory) PutChunk(ctx context.Context, instance, content string, part int, bytes []byte) error {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return err
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.chunks == nil {
		m.chunks, m.contents = map[string][][]byte{}, map[string]domain.Content{}
	}
	key := instance + "/" + content
	if len(m.chunks[key]) != part || len(bytes) > domain.ChunkBytes {
		return errors.New("a wrong part")
	}
	m.chunks[key] = append(m.chunks[key], slices.Clone(bytes))
	return nil
}

func (m *memory) PutContent(ctx context.Context, instance string, about chat.Media, c domain.Content) error {
	if err := m.PutMedia(ctx, instance, about, time.Now()); err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.contents == nil {
		m.contents = map[string]domain.Content{}
	}
	c.At = time.Now()
	m.contents[instance+"/"+string(about.Ref)] = c
	m.refs = append(m.refs, domain.StoredFile{Instance: instance, Ref: about.Ref, Size: c.Size})
	return nil
}

func (m *memory) Content(_ context.Context, instance string, ref chat.MediaRef) (domain.Content, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.failing > 0 {
		m.failing--
		return domain.Content{}, errors.New("the server is away")
	}
	c, ok := m.contents[instance+"/"+string(ref)]
	if !ok {
		return domain.Content{}, domain.ErrNotFound
	}
	return c, nil
}

func (m *memory) Chunk(ctx context.Context, instance, content string, part int) ([]byte, error) {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return nil, err
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.reads++
	all := m.chunks[instance+"/"+content]
	if part >= len(all) {
		return nil, domain.ErrNotFound
	}
	return all[part], nil
}

func (m *memory) DropContent(_ context.Context, instance string, ref chat.MediaRef, content string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := instance + "/" + string(ref)
	if c, ok := m.contents[key]; ok && (content == "" || content == c.Name) {
		delete(m.contents, key)
		m.refs = slices.DeleteFunc(m.refs, func(f domain.StoredFile) bool { return f.Instance == instance && f.Ref == ref })
		content = c.Name
		delete(m.Known, key)
	}
	delete(m.chunks, instance+"/"+content)
	return nil
}

func (m *memory) ContentUse(context.Context) (map[string]domain.ContentUse, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	all := map[string]domain.ContentUse{}
	for key, chunks := range m.chunks {
		instance, _, _ := strings.Cut(key, "/")
		u := all[instance]
		for _, chunk := range chunks {
			u.Bytes += int64(len(chunk))
		}
		all[instance] = u
	}
	for _, f := range m.refs {
		u := all[f.Instance]
		u.Files++
		all[f.Instance] = u
	}
	return all, nil
}

func (m *memory) OldestContents(_ context.Context, instance string, after domain.StoredFile, limit int) (list []domain.StoredFile, _ error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	begun := after.Ref == ""
	for _, f := range m.refs {
		if begun && (instance == "" || f.Instance == instance) && len(list) < min(limit, 3) {
			list = append(list, f)
		}
		begun = begun || f.Ref == after.Ref && f.Instance == after.Instance
	}
	return list, nil
}

// host is a store of files of one of several hosts, which have a folder each.
type host struct {
	*mediatest.Bundle
	in *files.Inbound
}

// hostOf returns a host whose files are in a database.
func hostOf(t *testing.T, db database, space files.SpaceOptions) host {
	t.Helper()
	b := mediatest.Setup(t)
	space.Most = cmp.Or(space.Most, mediatest.AllBytes)
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: db, Contents: db, MaxBytes: 20 << 20, Space: space})
	return host{b, files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{})}
}

func (h host) put(t *testing.T, instance string, content []byte) chat.Media {
	t.Helper()
	m, err := h.Put(t.Context(), instance, chat.Media{FileName: "a.bin"}, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// opens fails the test unless a file is opened, with this content.
func (h host) opens(t *testing.T, instance string, want chat.Media, content []byte) {
	t.Helper()
	m, file, err := h.Open(t.Context(), instance, want.Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := io.ReadAll(file)
	if m != want || err != nil || !bytes.Equal(got, content) {
		t.Errorf("opened %+v with %d bytes, %v; want %+v with %d", m, len(got), err, want, len(content))
	}
}

// lacks fails the test unless the host's folder has no file of a ref, not even a part.
func (h host) lacks(t *testing.T, ref chat.MediaRef) {
	t.Helper()
	for _, name := range h.Kept(t) {
		if strings.Contains(name, string(ref)) {
			t.Errorf("the folder has %s", name)
		}
	}
}

// databases are those that the tests run with.
var databases = map[string]func(*testing.T) database{
	"in memory": func(*testing.T) database { return &memory{} },
	"SQLite":    func(t *testing.T) database { return storetest.Open(t) },
	"PostgreSQL": func(t *testing.T) database {
		s, err := store.OpenServer(t.Context(), postgrestest.Shared(t).Database(t), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	},
}

// random is content that cannot be compressed.
func random(size int) []byte {
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = source.Read(content)
	return content
}

// What one host stores another one opens, byte for byte, and no other instance does.
// Behaviour: file-database.
func TestAnotherHostOpensWhatOneHasStored(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			here, there := hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{})
			for _, size := range []int{0, 1, 1 << 20, 1<<20 + 1, 20 << 20} {
				content := random(size)
				m := here.put(t, "telegram", content)
				if m.Size != int64(size) {
					t.Fatalf("stored %+v, want %d bytes", m, size)
				}
				there.opens(t, "telegram", m, content)
				here.opens(t, "telegram", m, content)
				if info, err := os.Stat(filepath.Join(there.Dir, "telegram", string(m.Ref))); err != nil || info.Mode() != 0o600 || info.Size() != int64(size) {
					t.Errorf("the copy is %v, %v", info, err)
				}
				if err := os.RemoveAll(there.Dir); err != nil {
					t.Fatal(err)
				}
				if _, _, err := there.Open(t.Context(), "discord", m.Ref); !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("another instance opens it: %v", err)
				}
				_, path, err := there.in.Show(t.Context(), "telegram", chat.Media{Ref: m.Ref})
				if got, failed := os.ReadFile(path); err != nil || failed != nil || !bytes.Equal(got, content) {
					t.Errorf("%d bytes are shown, %v, %v", len(got), err, failed)
				}
				if info, err := os.Stat(filepath.Join(there.Dir, "telegram")); err != nil || info.Mode() != fs.ModeDir|0o700 {
					t.Errorf("the folder is %v, %v", info, err)
				}
			}
			limits := []chat.MediaLimit{{Kind: chat.File, MaxBytes: 1 << 20}}
			sent, ok, err := here.Keep(t.Context(), "telegram", limits, chat.Media{FileName: "b.txt"}, strings.NewReader("tea"))
			if !ok || err != nil {
				t.Fatalf("kept %+v, %v", sent, err)
			}
			there.opens(t, "telegram", sent, []byte("tea"))
			here.Drop(t.Context(), "telegram", sent.Ref)
			if _, _, err := hostOf(t, db, files.SpaceOptions{}).Open(t.Context(), "telegram", sent.Ref); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("what was dropped is opened: %v", err)
			}
			for _, ref := range []chat.MediaRef{"", "..", "../telegram/" + sent.Ref, "/etc/passwd", "gone", sent.Ref + "\x00"} {
				if _, _, err := there.in.Show(t.Context(), "telegram", chat.Media{Ref: ref}); !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("%q: %v", ref, err)
				}
			}
		})
	}
}

// Hosts that share a folder have the same files in it, without the database.
func TestHostsThatShareAFolder(t *testing.T) {
	t.Parallel()
	here, there := mediatest.Setup(t), mediatest.Setup(t)
	there.Store = files.NewStore(files.Options{Dir: here.Dir, Rows: here.Rows, MaxBytes: mediatest.MaxBytes})
	n := &network{files: map[chat.FileToken][]byte{"token": text}}
	sent := here.Stored(t, chat.Media{}, text)
	for _, b := range []*mediatest.Bundle{here, there} {
		for _, m := range []chat.Media{sent, brought(t, b, n, chat.Media{Token: "token"})} {
			if got := shows(t, b, m); got != string(text) {
				t.Errorf("the agent reads %q", got)
			}
		}
	}
	if len(n.tries) != 1 {
		t.Errorf("it was fetched %d times", len(n.tries))
	}
}

// A file that was fetched from its network is not fetched again by another host.
// Behaviour: file-database.
func TestAnotherHostHasWhatOneHasFetched(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			here, there := hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{})
			content := random(1<<20 + 5)
			n := &network{files: map[chat.FileToken][]byte{"token": content}}
			for i, h := range []host{here, there, here, there} {
				got := brought(t, h.Bundle, n, chat.Media{Token: "token", Size: int64(len(content))})
				if got.Problem != "" || got.Size != int64(len(content)) {
					t.Errorf("attempt %d: %+v", i, got)
				}
				if shows(t, h.Bundle, got) != string(content) {
					t.Errorf("attempt %d: the agent reads something else", i)
				}
			}
			if len(n.tries) != 1 {
				t.Errorf("it was fetched %d times", len(n.tries))
			}
		})
	}
}

// Two hosts that fetch the same file at once have it both, and a third one has what one of them has recorded.
func TestTwoHostsFetchAtOnce(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			hosts := []host{hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{})}
			var both, all sync.WaitGroup
			both.Add(len(hosts))
			for i, h := range hosts {
				all.Go(func() {
					n := &network{turns: []func(context.Context) (io.ReadCloser, error){func(context.Context) (io.ReadCloser, error) {
						both.Done()
						both.Wait() // neither has it yet
						return io.NopCloser(bytes.NewReader(random(1<<20 + i))), nil
					}}}
					if got := brought(t, h.Bundle, n, chat.Media{Token: "token"}); got.Size != int64(1<<20+i) {
						t.Errorf("host %d: %+v", i, got)
					}
				})
			}
			all.Wait()
			third := hostOf(t, db, files.SpaceOptions{})
			got := shows(t, third.Bundle, brought(t, third.Bundle, &network{}, chat.Media{Token: "token"}))
			if got != string(random(1<<20)) && got != string(random(1<<20+1)) {
				t.Errorf("the third host has %d other bytes", len(got))
			}
		})
	}
}

// killed is a database of a host that dies after it has stored some parts.
type killed struct {
	*store.Store
	parts int
}

var errKilled = errors.New("killed")

func (k *killed) PutChunk(ctx context.Context, instance, content string, part int, bytes []byte) error {
	if part == k.parts {
		return errKilled
	}
	return k.Store.PutChunk(ctx, instance, content, part, bytes)
}

func (k *killed) PutContent(context.Context, string, chat.Media, domain.Content) error {
	return errKilled
}

func (k *killed) DropContent(context.Context, string, chat.MediaRef, string) error { return errKilled }

// While a file is not whole it does not exist, and what is left of it is deleted after a day.
// Behaviour: file-database.
func TestAHostDiesBetweenTwoParts(t *testing.T) {
	t.Parallel()
	for _, parts := range []int{0, 1, 2, 3} { // of three: with the last one the file is not recorded yet
		now := time.Now()
		s := storetest.OpenWith(t, store.Options{Now: func() time.Time { return now }})
		here := hostOf(t, &killed{s, parts}, files.SpaceOptions{})
		m, err := here.Receive("telegram", chat.Media{}, bytes.NewReader(random(2<<20+1)), 20<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := here.Record(t.Context(), "telegram", m); !errors.Is(err, errKilled) {
			t.Fatalf("after %d parts: %v", parts, err)
		}
		there := hostOf(t, s, files.SpaceOptions{})
		if _, _, err := there.Open(t.Context(), "telegram", m.Ref); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("after %d parts: %v", parts, err)
		}
		uses := func() int64 {
			t.Helper()
			all, err := s.ContentUse(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return all["telegram"].Bytes
		}
		if want := min(int64(parts)<<20, 2<<20+1); uses() != want {
			t.Errorf("after %d parts %d bytes are stored, want %d", parts, uses(), want)
		}
		now = now.Add(24 * time.Hour)
		if err := s.Purge(t.Context(), store.Ages{}); err != nil {
			t.Fatal(err)
		}
		if uses() != 0 {
			t.Errorf("after %d parts and a day %d bytes are stored", parts, uses())
		}
	}
}

// A file that could not be stored as a whole leaves nothing.
func TestAFileThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			here := hostOf(t, db, files.SpaceOptions{})
			for _, parts := range []int{0, 1, 2} {
				ctx, cancel := context.WithCancel(t.Context())
				h := hostOf(t, &cancelled{db, parts, cancel}, files.SpaceOptions{})
				if _, err := h.Put(ctx, "telegram", chat.Media{}, bytes.NewReader(random(2<<20+1))); !errors.Is(err, context.Canceled) {
					t.Errorf("a context that ends before part %d: %v", parts, err)
				}
				if kept := h.Kept(t); len(kept) > 0 {
					t.Errorf("the folder has %q", kept)
				}
			}
			here.put(t, "telegram", nil) // so that there is something
			all, err := db.ContentUse(t.Context())
			if err != nil || all["telegram"] != (domain.ContentUse{Files: 1}) {
				t.Errorf("the database has %+v, %v", all, err)
			}
		})
	}
}

// cancelled ends a context before a part is stored.
type cancelled struct {
	database
	part   int
	cancel context.CancelFunc
}

func (c *cancelled) PutChunk(ctx context.Context, instance, content string, part int, bytes []byte) error {
	if part == c.part {
		c.cancel()
		return ctx.Err()
	}
	return c.database.PutChunk(ctx, instance, content, part, bytes)
}

// A content that is not what was stored is an error, and never a file.
// Behaviour: file-database.
func TestADamagedContent(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(chunks [][]byte) [][]byte{
		"its first part is missing": func([][]byte) [][]byte { return nil },
		"its last part is missing":  func(chunks [][]byte) [][]byte { return chunks[:2] },
		"a part is empty":           func(chunks [][]byte) [][]byte { chunks[1] = nil; return chunks },
		"a part is short":           func(chunks [][]byte) [][]byte { chunks[2] = chunks[2][:4]; return chunks },
		"a part is long":            func(chunks [][]byte) [][]byte { chunks[1] = append(chunks[1], 'x'); return chunks },
		"a byte is another":         func(chunks [][]byte) [][]byte { chunks[1][7]++; return chunks },
		"parts are exchanged":       func(chunks [][]byte) [][]byte { return [][]byte{chunks[1], chunks[0], chunks[2]} },
	} {
		db := &memory{}
		here, there := hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{})
		content := random(2<<20 + 5)
		m := here.put(t, "telegram", content)
		key := "telegram/" + string(m.Ref)
		db.chunks[key] = spoil(db.chunks[key])
		_, _, err := there.Open(t.Context(), "telegram", m.Ref)
		if err == nil || errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), "is damaged in the database") {
			t.Errorf("%s: %v", name, err)
		}
		there.lacks(t, m.Ref)
		here.opens(t, "telegram", m, content)

		n := &network{files: map[chat.FileToken][]byte{"token": content}}
		fetched := brought(t, here.Bundle, n, chat.Media{Token: "token"})
		key = "telegram/" + db.contents["telegram/"+string(fetched.Ref)].Name
		db.chunks[key] = spoil(db.chunks[key])
		if got := shows(t, there.Bundle, brought(t, there.Bundle, n, chat.Media{Token: "token"})); got != string(content) || len(n.tries) != 2 {
			t.Errorf("%s: it was fetched %d times, and has %d bytes", name, len(n.tries), len(got))
		}
	}
}

// A file that is deleted while it is copied is not found, and one that is replaced is the new one.
func TestAContentThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		db := &memory{}
		here, there := hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{})
		m := here.put(t, "telegram", random(2<<20))
		n := 0
		db.before = func(ctx context.Context) error {
			if n++; n != 2 {
				return nil
			}
			if err := db.DropContent(ctx, "telegram", m.Ref, ""); err != nil || !replaced {
				return err
			}
			if err := db.PutChunk(ctx, "telegram", "new", 0, []byte("new")); err != nil {
				return err
			}
			m.Size = 3
			return db.PutContent(ctx, "telegram", m, domain.Content{Name: "new", Size: 3, Digest: "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"})
		}
		shown, path, err := there.in.Show(t.Context(), "telegram", m)
		if !replaced {
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("a file that is deleted: %+v, %v", shown, err)
			}
			there.lacks(t, m.Ref)
			continue
		}
		if got, failed := os.ReadFile(path); err != nil || failed != nil || string(got) != "new" {
			t.Errorf("a file that is replaced has %d bytes, %v, %v", len(got), err, failed)
		}
	}
}

// However many open a file at once, it is copied once; who no longer waits keeps nobody else from it.
func TestAContentIsCopiedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &memory{}
		here, there := hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{})
		content := random(3 << 20)
		m := here.put(t, "telegram", content)
		db.before = func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var all sync.WaitGroup
		for _, patience := range []time.Duration{500 * time.Millisecond, 100 * time.Millisecond} { // the one that copies, and one that waits
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				began := time.Now()
				if _, _, err := there.Open(ctx, "telegram", m.Ref); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != patience {
					t.Errorf("who does not wait gets %v after %s", err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		for range 20 {
			all.Go(func() { there.opens(t, "telegram", m, content) })
		}
		all.Wait()
		if db.reads != 3 {
			t.Errorf("%d parts were read, want 3", db.reads)
		}
	})
}

// A message waits for a database that is away, and goes on without its file only when that takes too long.
func TestADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	for failing, want := range map[int]string{5: "", 1000: "could not be fetched"} {
		synctest.Test(t, func(t *testing.T) {
			db := &memory{}
			m := hostOf(t, db, files.SpaceOptions{}).put(t, "telegram", []byte("tea"))
			there := hostOf(t, db, files.SpaceOptions{})
			db.failing = failing
			if got := brought(t, there.Bundle, &network{}, m); got.Problem != want {
				t.Errorf("after %d failures: %+v", failing, got)
			}
		})
	}
}

// A database may take longer for a file than a network may be silent.
func TestADatabaseThatIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &memory{before: func(ctx context.Context) error {
			select {
			case <-time.After(9 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		n := &network{turns: []func(context.Context) (io.ReadCloser, error){func(ctx context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(random(4<<20)), ends{ctx})), nil
		}}}
		h := hostOf(t, db, files.SpaceOptions{})
		if got := brought(t, h.Bundle, n, chat.Media{Token: "token"}); got.Problem != "" || got.Size != 4<<20 || len(n.tries) != 1 {
			t.Errorf("it was fetched %d times: %+v", len(n.tries), got)
		}
	})
}

// ends is the end of a file, or an error if its context has ended.
type ends struct{ ctx context.Context }

func (e ends) Read([]byte) (int, error) { return 0, cmp.Or(e.ctx.Err(), io.EOF) }

// What a host removes from its folder to free space the database still has.
// Behaviour: file-database.
func TestACacheThatIsFull(t *testing.T) {
	t.Parallel()
	db := &memory{}
	crowded := make(chan files.Crowded, 1)
	here := hostOf(t, db, files.SpaceOptions{})
	there := hostOf(t, db, files.SpaceOptions{Most: 16 * int64(len(sized)), Crowded: crowded})
	var all []chat.Media
	for range 40 {
		all = append(all, here.put(t, "telegram", sized))
	}
	for range 2 {
		for _, m := range all {
			there.opens(t, "telegram", m, sized)
			if stored := mediatest.BytesIn(t, there.Dir); stored > 16*int64(len(sized)) {
				t.Fatalf("the folder has %d bytes", stored)
			}
		}
	}
	if len(crowded) > 0 {
		t.Errorf("it was said that files are gone: %v", <-crowded)
	}
}

// The database has no more than it may, and a channel no more than its part: the oldest files go first, needed ones never.
// Behaviour: file-database.
func TestSpaceInTheDatabase(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, needed, crowded := open(t), needs{}, make(chan files.Crowded, 10)
			size := int64(len(sized))
			here := hostOf(t, db, files.SpaceOptions{Most: 16 * size, Each: 8 * size, Needs: needed, Crowded: crowded})
			quiet := here.put(t, "discord", sized)
			first := here.put(t, "telegram", sized)
			needed["telegram"] = append(needed["telegram"], first)
			var last chat.Media
			for n := range 30 {
				last = here.put(t, "telegram", sized)
				all, err := db.ContentUse(t.Context())
				if err != nil || all["telegram"].Bytes > 8*size {
					t.Fatalf("after %d files: %+v, %v", n+1, all, err)
				}
			}
			there := hostOf(t, db, files.SpaceOptions{})
			for _, m := range []chat.Media{first, last} {
				there.opens(t, "telegram", m, sized)
			}
			there.opens(t, "discord", quiet, sized)
			if said := <-crowded; len(crowded) > 0 || said.Folder != "The database's space for files" || said.Files == 0 || said.Bytes != int64(said.Files)*size || said.Most != 8*size {
				t.Errorf("it was said %+v, and %d more", said, len(crowded))
			}
			needed["telegram"] = append(needed["telegram"], last)
			for range 6 { // 8 with the first one and the last one
				needed["telegram"] = append(needed["telegram"], here.put(t, "telegram", sized))
			}
			if _, err := here.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(sized)); !errors.Is(err, files.ErrNoSpace) {
				t.Errorf("though all are needed: %v", err)
			}
			for range 30 { // of other channels, which share the rest
				here.put(t, "signal", sized)
				here.put(t, "irc", sized)
			}
			all, err := db.ContentUse(t.Context())
			sum := domain.ContentUse{}
			for _, u := range all {
				sum.Bytes += u.Bytes
				sum.Files += u.Files
			}
			if err != nil || sum.Bytes > 16*size || sum.Bytes != sum.Files*size || all["telegram"].Files != 8 {
				t.Errorf("the database has %+v, %v", all, err)
			}
			if _, _, err := hostOf(t, db, files.SpaceOptions{}).Open(t.Context(), "discord", quiet.Ref); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("the oldest file of all: %v", err)
			}
		})
	}
}

// A file expires everywhere when it is as old as it may be, whenever a host has copied it.
// Behaviour: file-database.
func TestCopiesExpireWithTheOriginal(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(-20 * 24 * time.Hour)
	s := storetest.OpenWith(t, store.Options{Now: func() time.Time { return now }})
	here, there := hostOf(t, s, files.SpaceOptions{Age: 21 * 24 * time.Hour}), hostOf(t, s, files.SpaceOptions{Age: 19 * 24 * time.Hour})
	m := here.put(t, "telegram", []byte("tea"))
	for _, h := range []host{here, there} {
		h.opens(t, "telegram", m, []byte("tea"))
		if err := h.Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	there.lacks(t, m.Ref)
	there.opens(t, "telegram", m, []byte("tea"))
	now = now.Add(30 * 24 * time.Hour)
	if err := s.Purge(t.Context(), store.Ages{}); err != nil {
		t.Fatal(err)
	}
	for _, h := range []host{here, there, hostOf(t, s, files.SpaceOptions{})} {
		if _, _, err := h.Open(t.Context(), "telegram", m.Ref); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("after it has expired: %v", err)
		}
	}
}

// Copies of what was deleted on another host are removed; what only the folder has stays, and what may not be recorded yet.
// Behaviour: file-database.
func TestCopiesOfDeletedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			needed := needs{}
			here, there := hostOf(t, db, files.SpaceOptions{}), hostOf(t, db, files.SpaceOptions{Needs: needed})
			keep, gone, wanted := here.put(t, "telegram", []byte("keep")), here.put(t, "telegram", []byte("gone")), here.put(t, "telegram", []byte("wanted"))
			needed["telegram"] = []chat.Media{wanted}
			for _, m := range []chat.Media{keep, gone, wanted} {
				there.opens(t, "telegram", m, map[chat.MediaRef][]byte{keep.Ref: []byte("keep"), gone.Ref: []byte("gone"), wanted.Ref: []byte("wanted")}[m.Ref])
			}
			old := files.NewStore(files.Options{Dir: there.Dir, Rows: db, MaxBytes: 1 << 20}) // before the files were in the database
			alone, err := old.Put(t.Context(), "telegram", chat.Media{}, strings.NewReader("alone"))
			if err != nil {
				t.Fatal(err)
			}
			young, err := there.Receive("telegram", chat.Media{}, strings.NewReader("young"), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []chat.Media{keep, gone, wanted, alone} {
				mediatest.Age(t, filepath.Join(there.Dir, "telegram", string(m.Ref)), 70)
			}
			here.Drop(t.Context(), "telegram", gone.Ref)
			here.Drop(t.Context(), "telegram", wanted.Ref)
			if err := there.Discard(t.Context()); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, m := range []chat.Media{keep, wanted, alone, young} {
				want = append(want, fmt.Sprint("telegram/", m.Ref))
			}
			slices.Sort(want)
			if got := there.Kept(t); !slices.Equal(got, want) {
				t.Errorf("left are %q, want %q", got, want)
			}
			there.opens(t, "telegram", alone, []byte("alone"))
		})
	}
}
