// Package files stores the files of messages within limits: those that come in, which it fetches from their networks and makes
// readable for the agent, and those that are sent. No name from others becomes part of one of the host's paths.
package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// KeptFor is how long files are stored unless something else is said, in the host's own folder and in those of the workspace.
	KeptFor = 30 * 24 * time.Hour
	// ForGood is the age of files that do not expire.
	ForGood time.Duration = -1
	// allFiles is the maximum number of files in the host's own folder.
	allFiles = 20_000
)

// ErrTooLarge means that a file exceeds the size limit.
var ErrTooLarge = errors.New("the file is too large")

// ErrNotAccepted means that a file's type is not accepted.
var ErrNotAccepted = errors.New("is of a type that is not accepted here")

// Rows stores the descriptions of files: a plugin can download what it contains, under the names there.
type Rows interface {
	PutMedia(ctx context.Context, instance string, m chat.Media, at time.Time) error
	Media(ctx context.Context, instance string, ref chat.MediaRef) (chat.Media, error)
}

// Options configure the folder and limits of the host's files.
type Options struct {
	Dir  string // created when it is needed
	Rows Rows
	// Contents has the contents of files for all hosts, and the folder is a cache of them; nil: only the folder has them.
	Contents Contents
	// MaxBytes limits an incoming file. Its type must be in Accept, such as image/* or application/pdf; if that is empty
	// all are accepted.
	MaxBytes int64
	Accept   []string
	Space    SpaceOptions
}

// A Store has the host's own files, in a folder for each plugin instance. It is safe for concurrent use.
type Store struct {
	dir      string
	rows     Rows
	maxBytes int64
	accept   []string
	space    *Space
	shared   *shared // nil: only the folder has the contents
}

// NewStore returns the store in a folder.
func NewStore(options Options) *Store {
	shared := newShared(options.Contents, options.Space)
	if shared != nil {
		options.Space.Crowded = nil // what is removed from a cache is not lost
	}
	return &Store{
		dir: options.Dir, rows: options.Rows, maxBytes: options.MaxBytes, accept: options.Accept, shared: shared,
		space: NewSpace(Folder{
			Name: wording.FolderMedia, Root: workspace.New(options.Dir), Dir: ".", Parts: true,
			MaxFiles: allFiles,
		}, options.Space),
	}
}

// Most returns the maximum size of an incoming file, such as 20 MB.
func (f *Store) Most() string { return filetype.Megabytes(f.maxBytes) }

// MaxBytes returns the maximum size of an incoming file.
func (f *Store) MaxBytes() int64 { return f.maxBytes }

// Put stores a file of an instance and returns its description by its content, under a new ref. The error is [ErrTooLarge]
// for a file above the size limit and [ErrNotAccepted] for a refused type; after any error nothing is stored.
func (f *Store) Put(ctx context.Context, instance string, claim chat.Media, content io.Reader) (chat.Media, error) {
	m, err := f.take(instance, claim, content)
	if err != nil {
		return chat.Media{}, err
	}
	return m, f.Record(ctx, instance, m)
}

// take writes an incoming file, if it is accepted.
func (f *Store) take(instance string, claim chat.Media, content io.Reader) (chat.Media, error) {
	m, err := f.Receive(instance, claim, content, f.maxBytes)
	if err != nil {
		return chat.Media{}, err
	}
	if !f.accepts(m.MIMEType) {
		f.remove(instance, m.Ref)
		return chat.Media{}, fmt.Errorf("%w: %s", ErrNotAccepted, m.MIMEType)
	}
	return m, nil
}

// Keep stores a file of the host's own for a channel to send, as the kind that a chat with these limits takes; false: it
// takes none of this size.
func (f *Store) Keep(
	ctx context.Context, instance string, limits []chat.MediaLimit, file chat.Media, content io.Reader,
) (kept chat.Media, ok bool, err error) {
	most := filetype.Largest(limits)
	if most == 0 {
		return chat.Media{}, false, nil
	}
	kept, err = f.Receive(instance, file, content, most)
	if errors.Is(err, ErrTooLarge) {
		return chat.Media{}, false, nil
	}
	if err != nil {
		return chat.Media{}, false, fmt.Errorf("keep a file: %w", err)
	}
	kind, _ := filetype.Fit(kept, limits)
	if kind == 0 {
		f.remove(instance, kept.Ref)
		return chat.Media{}, false, nil
	}
	kept.Kind = kind
	return kept, true, f.Record(ctx, instance, kept)
}

// accepts reports whether files of a type are accepted.
func (f *Store) accepts(mimeType string) bool {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	mimeType = strings.TrimSpace(mimeType)
	return len(f.accept) == 0 || slices.ContainsFunc(f.accept, func(t string) bool {
		sort, all := strings.CutSuffix(t, "*")
		return t == mimeType || all && strings.HasPrefix(mimeType, sort)
	})
}

// Receive writes a file of at most limit bytes and returns its description by its content, under a new ref. The error is [ErrTooLarge]
// for a larger one; after any error nothing is stored. The caller must call Record or Drop.
func (f *Store) Receive(instance string, claim chat.Media, content io.Reader, limit int64) (m chat.Media, err error) {
	claim.Ref = chat.MediaRef(strings.ToLower(rand.Text()))
	path, err := f.path(instance, claim.Ref)
	if err != nil {
		return chat.Media{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return chat.Media{}, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return chat.Media{}, err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	arrival := f.space.arrive(file, instance, string(claim.Ref))
	defer arrival.end()
	size, err := io.Copy(arrival, io.LimitReader(content, limit+1))
	switch {
	case err != nil:
		return chat.Media{}, err
	case size > limit:
		return chat.Media{}, ErrTooLarge
	}
	if err := arrival.count(); err != nil {
		return chat.Media{}, err
	}
	if err := file.Sync(); err != nil {
		return chat.Media{}, err
	}
	return filetype.Settle(claim, file, size)
}

// Record records a received file, so that it can be opened. After an error it is removed.
func (f *Store) Record(ctx context.Context, instance string, m chat.Media) (err error) {
	if f.shared != nil {
		err = f.publish(ctx, instance, m.Ref, m)
	} else {
		err = f.rows.PutMedia(ctx, instance, m, time.Now())
	}
	if err != nil {
		f.remove(instance, m.Ref)
	}
	return err
}

// fetched reports whether a file that was fetched by its token is stored, and sets its ref and size. It updates the
// modification time, because the file is needed.
func (f *Store) fetched(ctx context.Context, instance string, m *chat.Media) bool {
	ref := domain.FetchedRef(m.Token)
	path, err := f.path(instance, ref)
	if err != nil {
		return false
	}
	now := time.Now()
	err = os.Chtimes(path, now, now)
	if err != nil && f.shared != nil {
		var file *os.File
		if file, err = f.cached(ctx, instance, ref); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	m.Ref, m.Size = ref, info.Size()
	return true
}

// putFetched stores a file that is fetched by its token, and sets its ref and size. Its errors are those of [Store.Put].
func (f *Store) putFetched(ctx context.Context, instance string, m *chat.Media, content io.Reader) error {
	kept, err := f.take(instance, *m, content)
	if err != nil {
		return err
	}
	ref := domain.FetchedRef(m.Token)
	if f.shared != nil {
		recorded := kept
		recorded.Ref = ref
		if err := f.publish(ctx, instance, kept.Ref, recorded); err != nil {
			f.remove(instance, kept.Ref)
			return err
		}
	}
	from, errFrom := f.path(instance, kept.Ref)
	to, errTo := f.path(instance, ref)
	if err := errors.Join(errFrom, errTo); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Remove(from))
	}
	m.Ref, m.Size = ref, kept.Size
	return nil
}

// Drop removes a received file that nothing names. If it is recorded, its record expires, or goes too if the database has the content.
func (f *Store) Drop(ctx context.Context, instance string, ref chat.MediaRef) {
	f.remove(instance, ref)
	if f.shared != nil {
		f.shared.drop(ctx, instance, ref, "")
	}
}

// remove removes a file of the folder.
func (f *Store) remove(instance string, ref chat.MediaRef) {
	if path, err := f.path(instance, ref); err == nil {
		_ = os.Remove(path) // otherwise it expires
	}
}

// Open opens a file of an instance. One that does not exist, or no longer, is [domain.ErrNotFound].
func (f *Store) Open(ctx context.Context, instance string, ref chat.MediaRef) (chat.Media, *os.File, error) {
	m, err := f.rows.Media(ctx, instance, ref)
	if err != nil {
		return chat.Media{}, nil, err
	}
	file, err := f.open(ctx, instance, ref)
	if err != nil {
		return chat.Media{}, nil, err
	}
	return m, file, nil
}

// Read returns a file of an instance's own, as [Store.Open] does. Of one that is larger than most bytes there is no data.
func (f *Store) Read(ctx context.Context, instance string, ref chat.MediaRef, most int64) (chat.Media, []byte, error) {
	m, file, err := f.Open(ctx, instance, ref)
	if err != nil {
		return m, nil, err
	}
	defer file.Close()
	if m.Size > most {
		return m, nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(file, most))
	return m, data, err
}

// Look opens a file and returns its description by its content, whatever is claimed of it.
func (f *Store) Look(ctx context.Context, instance string, claim chat.Media) (chat.Media, *os.File, error) {
	file, err := f.open(ctx, instance, claim.Ref)
	if err != nil {
		return chat.Media{}, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		claim, err = filetype.Settle(claim, file, info.Size())
	}
	if err != nil {
		return chat.Media{}, nil, errors.Join(err, file.Close())
	}
	return claim, file, nil
}

func (f *Store) open(ctx context.Context, instance string, ref chat.MediaRef) (*os.File, error) {
	path, err := f.path(instance, ref)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && f.shared != nil {
		return f.cached(ctx, instance, ref)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("media %s: %w", ref, domain.ErrNotFound)
	}
	return file, err
}

// path returns the path of a file. Refs are created by the host, but plugins send them back.
func (f *Store) path(instance string, ref chat.MediaRef) (string, error) {
	for _, name := range []string{instance, string(ref)} {
		if !filepath.IsLocal(name) || filepath.Base(name) != name || name == "." || strings.ContainsRune(name, 0) {
			return "", fmt.Errorf("unexpected file name: %w", domain.ErrNotFound)
		}
	}
	return filepath.Join(f.dir, instance, string(ref)), nil
}

// Discard removes expired files, and the oldest ones if all of them exceed the limits: anybody who finds a bot can send it
// files. If the folder is a cache, it also removes files that were deleted on another host.
func (f *Store) Discard(ctx context.Context) error {
	err := f.space.Clear()
	if f.shared != nil {
		err = errors.Join(err, f.prune(ctx))
	}
	return err
}
