package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Contents has the contents of files for all hosts.
type Contents interface {
	// PutChunk stores a part of a content, numbered from 0, that PutContent records as that of a file.
	PutChunk(ctx context.Context, instance, content string, part int, bytes []byte) error
	PutContent(ctx context.Context, instance string, m chat.Media, c domain.Content) error
	// Content and Chunk return [domain.ErrNotFound] for what does not exist.
	Content(ctx context.Context, instance string, ref chat.MediaRef) (domain.Content, error)
	Chunk(ctx context.Context, instance, content string, part int) ([]byte, error)
	// DropContent deletes a file, if it has this content, or any if it is empty, and the content also if no file has it.
	DropContent(ctx context.Context, instance string, ref chat.MediaRef, content string) error
	// ContentUse and OldestContents tell what the contents take up, and which of them are to go first.
	ContentUse(ctx context.Context) (map[string]domain.ContentUse, error)
	OldestContents(ctx context.Context, instance string, after domain.StoredFile, limit int) ([]domain.StoredFile, error)
}

var (
	// errUnread means that a content cannot be read now.
	errUnread = errors.New("cannot be read from the database now")
	// errDamaged means that a content is not what was stored.
	errDamaged = errors.New("is damaged in the database")
)

const (
	// reads bounds how often a content is read that is replaced meanwhile.
	reads = 3
	// dropTime limits the deletion of a content after an error; it is deleted later otherwise.
	dropTime = 10 * time.Second
	// listed is the maximum number of files that are listed at once.
	listed = 1000
	// incomplete is the extension of a file that is being copied from the database.
	incomplete = ".part"
	// unknownAge is the minimum age of files that are removed because the database does not have them: younger ones may not be recorded
	// yet.
	unknownAge = time.Hour
)

// shared is what a store has whose folder is only a cache of contents that all hosts have.
type shared struct {
	Contents
	space SpaceOptions
	turn  chan struct{} // holds a value while somebody frees space
	said  time.Time     // that it was made; guarded by turn

	mutex   sync.Mutex
	reading map[string]chan struct{} // contents that are copied to the folder, by path; closed at the end
}

func newShared(contents Contents, space SpaceOptions) *shared {
	if contents == nil {
		return nil
	}
	return &shared{Contents: contents, space: space, turn: make(chan struct{}, 1), reading: map[string]chan struct{}{}}
}

// publish stores the content of a file that is in the folder under a name, and then records it. After an error it is not stored.
func (f *Store) publish(ctx context.Context, instance string, name chat.MediaRef, m chat.Media) (err error) {
	path, err := f.path(instance, name)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.shared.makeSpace(ctx, instance, m.Size); err != nil {
		return err
	}
	c := domain.Content{Name: string(name), Size: m.Size}
	defer func() {
		if err != nil {
			f.shared.drop(ctx, instance, m.Ref, c.Name)
		}
	}()
	sum := sha256.New()
	chunk := make([]byte, min(domain.ChunkBytes, m.Size))
	for part, left := 0, m.Size; left > 0; part++ {
		chunk = chunk[:min(int64(len(chunk)), left)]
		if _, err := io.ReadFull(file, chunk); err != nil {
			return fmt.Errorf("read a file of the host: %w", err)
		}
		sum.Write(chunk)
		if err := f.shared.PutChunk(ctx, instance, c.Name, part, chunk); err != nil {
			return err
		}
		left -= int64(len(chunk))
	}
	c.Digest = hex.EncodeToString(sum.Sum(nil))
	return f.shared.PutContent(ctx, instance, m, c)
}

// drop deletes a file and a content of it after an error, which may be the end of ctx.
func (s *shared) drop(ctx context.Context, instance string, ref chat.MediaRef, content string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	_ = s.DropContent(ctx, instance, ref, content) // otherwise it expires
}

// cached opens a file of the folder, into which it is copied if only the database has it.
func (f *Store) cached(ctx context.Context, instance string, ref chat.MediaRef) (*os.File, error) {
	path, err := f.path(instance, ref)
	if err != nil {
		return nil, err
	}
	done, err := f.shared.read(ctx, path)
	if err != nil {
		return nil, err
	}
	defer done()
	if file, err := os.Open(path); err == nil { // somebody else has copied it
		return file, nil
	}
	defer f.space.arrive(nil, instance, string(ref)).end()
	for range reads {
		c, err := f.shared.Content(ctx, instance, ref)
		if err != nil {
			return nil, unread(ref, err)
		}
		err = f.copy(ctx, instance, ref, path, c)
		if errors.Is(err, domain.ErrNotFound) { // a part: the file may be deleted or replaced
			now, failed := f.shared.Content(ctx, instance, ref)
			if failed != nil {
				return nil, unread(ref, failed)
			}
			if now.Name != c.Name {
				continue
			}
			return nil, fmt.Errorf("media %s %w: a part is missing", ref, errDamaged)
		}
		if err != nil {
			return nil, err
		}
		return os.Open(path)
	}
	return nil, fmt.Errorf("media %s %w: it is replaced again and again", ref, errUnread)
}

// unread returns the error for a content that could not be read.
func unread(ref chat.MediaRef, err error) error {
	if errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("media %s: %w", ref, domain.ErrNotFound)
	}
	return fmt.Errorf("media %s %w: %w", ref, errUnread, err)
}

// read waits until nobody else copies a content to a path. The caller must call done.
func (s *shared) read(ctx context.Context, path string) (done func(), err error) {
	for {
		s.mutex.Lock()
		other, busy := s.reading[path]
		if !busy {
			break
		}
		s.mutex.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer s.mutex.Unlock()
	ended := make(chan struct{})
	s.reading[path] = ended
	return func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.reading, path)
		close(ended)
	}, nil
}

// copy copies a content to the path of a file, as a whole. If a part is missing, the error is [domain.ErrNotFound].
func (f *Store) copy(ctx context.Context, instance string, ref chat.MediaRef, path string, c domain.Content) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	name := string(ref) + "." + strings.ToLower(rand.Text()) + incomplete
	part := filepath.Join(filepath.Dir(path), name)
	file, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	arrival := f.space.arrive(file, instance, name)
	defer arrival.end()
	err = f.shared.write(ctx, instance, ref, c, arrival)
	if err == nil {
		err = arrival.count()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Chtimes(part, c.At, c.At) // it expires with the original
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}

// write writes a content. If a part is missing, the error is [domain.ErrNotFound].
func (s *shared) write(ctx context.Context, instance string, ref chat.MediaRef, c domain.Content, to io.Writer) error {
	sum := sha256.New()
	var size int64
	for part := 0; size < c.Size; part++ {
		chunk, err := s.Chunk(ctx, instance, c.Name, part)
		if errors.Is(err, domain.ErrNotFound) {
			return err
		}
		if err != nil {
			return unread(ref, err)
		}
		sum.Write(chunk)
		if size += int64(len(chunk)); size > c.Size {
			break
		}
		if _, err := to.Write(chunk); err != nil {
			return err
		}
	}
	if size > c.Size || hex.EncodeToString(sum.Sum(nil)) != c.Digest {
		return fmt.Errorf("media %s %w: it has other bytes than were stored", ref, errDamaged)
	}
	return nil
}

// load is what contents take up, with one that is to come.
type load struct {
	all, here int64 // bytes, of all instances and of its own
	files     int64
}

func (s *shared) load(ctx context.Context, instance string, size int64) (load, error) {
	l := load{all: size, here: size, files: 1}
	uses, err := s.ContentUse(ctx)
	for of, u := range uses {
		l.all += u.Bytes
		l.files += u.Files
		if of == instance {
			l.here += u.Bytes
		}
	}
	return l, err
}

// beyond reports whether all contents together exceed a part of the limits, and whether those of the instance do: all of the limits, or
// what is left of them without the spare.
func (s *shared) beyond(l load, spared bool) (all, here bool) {
	most, each, files := s.space.Most, s.space.Each, int64(allFiles)
	if spared {
		most, each, files = most-most/spare, each-each/spare, files-files/spare
	}
	return s.space.Most > 0 && l.all > most || l.files > files, s.space.Each > 0 && l.here > each
}

// makeSpace frees space for a content: the oldest files are deleted first, needed ones never. The error is [ErrNoSpace] if that is not enough.
func (s *shared) makeSpace(ctx context.Context, instance string, size int64) error {
	l, err := s.load(ctx, instance, size)
	if all, here := s.beyond(l, false); err != nil || !all && !here {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if l, err = s.load(ctx, instance, size); err != nil {
		return err
	}
	if all, here := s.beyond(l, false); !all && !here {
		return nil
	}
	needed := map[string]bool{}
	if s.space.Needs != nil {
		if needed, err = Needed(ctx, s.space.Needs); err != nil {
			return err
		}
	}
	for _, scope := range []string{"", instance} {
		if err := s.free(ctx, scope, instance, &l, needed); err != nil {
			return err
		}
	}
	if l, err = s.load(ctx, instance, size); err != nil { // other hosts have deleted and stored some, too
		return err
	}
	if all, here := s.beyond(l, false); all || here {
		return ErrNoSpace
	}
	return nil
}

// free deletes the oldest files of all instances, or of the scope if it is one, until a spare part is free.
func (s *shared) free(ctx context.Context, scope, instance string, l *load, needed map[string]bool) error {
	enough := func() bool {
		all, here := s.beyond(*l, true)
		return scope == "" && !all || scope != "" && !here
	}
	crowded := Crowded{Folder: wording.FolderDatabase, Most: s.space.Most}
	if scope != "" {
		crowded.Most = s.space.Each
	}
	defer func() {
		if crowded.Files > 0 && time.Since(s.said) > crowdedEvery {
			select {
			case s.space.Crowded <- crowded:
				s.said = time.Now()
			default:
			}
		}
	}()
	for after := (domain.StoredFile{}); !enough(); {
		list, err := s.OldestContents(ctx, scope, after, listed)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, file := range list {
			after = file
			if enough() {
				break
			}
			if needed[string(file.Ref)] {
				continue
			}
			if err := s.DropContent(ctx, file.Instance, file.Ref, ""); err != nil {
				return err
			}
			l.all -= file.Size
			l.files--
			if file.Instance == instance {
				l.here -= file.Size
			}
			crowded.Files++
			crowded.Bytes += file.Size
		}
	}
	return nil
}

// prune removes files of the folder that the database does not know, because they were deleted on another host.
func (f *Store) prune(ctx context.Context) error {
	needed, err := f.space.needed()
	if err != nil {
		return err
	}
	files, err := f.space.all()
	if err != nil {
		return err
	}
	var gone []stored
	for _, file := range files {
		ref := filepath.Base(file.path)
		if time.Since(file.info.ModTime()) < unknownAge || needed[refOf(ref)] {
			continue
		}
		_, err := f.rows.Media(ctx, file.part, chat.MediaRef(ref))
		switch {
		case errors.Is(err, domain.ErrNotFound):
			gone = append(gone, file)
		case err != nil:
			return err
		}
	}
	return f.space.remove(gone)
}
