package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// ErrNoSpace means that a folder is full and all of its files are needed.
var ErrNoSpace = errors.New("there is no space for more files now")

// spare is the part of a folder's limit that is freed when it is full: an eighth. So the folder is not scanned for each
// file.
const spare = 8

// neededTime limits the query for needed files.
const neededTime = 10 * time.Second

// crowdedEvery is how often a full folder is reported.
const crowdedEvery = 24 * time.Hour

// Crowded reports that the oldest files of a folder were removed because it was full.
type Crowded struct {
	Folder string // the operator's name for it
	Files  int
	Bytes  int64
	Most   int64 // the limit of the folder, or of one channel's part
}

// String returns a sentence for the operator.
func (c Crowded) String() string {
	return wording.FolderFull(c.Folder, filetype.Megabytes(c.Most), filetype.Megabytes(c.Bytes), c.Files)
}

// Needs returns the files that waiting and running messages need, by instance.
type Needs interface {
	NeededMedia(ctx context.Context) (map[string][]chat.Media, error)
}

// SpaceOptions limit the size of a folder.
type SpaceOptions struct {
	// Most limits the bytes of all files, and Each those of one channel, if the channels have folders; zero: no limit.
	Most, Each int64
	// Age is how long files are kept; zero: [KeptFor]; [ForGood]: they do not expire.
	Age   time.Duration
	Needs Needs
	// Crowded is called, at most once a day, that files were removed to make space. It must have space for a word; what does not
	// fit is lost.
	Crowded chan<- Crowded
}

// Folder is a folder whose size is limited.
type Folder struct {
	Name     string // the operator's name for it
	Root     *workspace.Workspace
	Dir      string        // in Root
	Parts    bool          // files are in folders of channels or conversations
	MaxFiles int           // zero: no limit
	Young    time.Duration // minimum age for removal, since the last change
}

// Space limits a folder: the oldest files are removed first, needed ones never. It is safe for concurrent use.
type Space struct {
	Folder
	SpaceOptions

	mutex sync.Mutex
	added int64           // bytes added since the last scan
	open  map[string]bool // names of files being written, which are kept
	full  bool            // the last scan could not free enough: scan again for the next file
	said  time.Time
}

// NewSpace returns the space of a folder.
func NewSpace(folder Folder, options SpaceOptions) *Space {
	return &Space{Folder: folder, SpaceOptions: options}
}

// step is how many bytes of a file are written between accounting: incomplete files take up space, too.
const step = 1 << 20

// arrival is a file that is being written.
type arrival struct {
	io.Writer
	space      *Space
	part, name string
	bytes      int64 // not accounted for yet
}

// arrive starts to write a file with a unique name. The caller must call end.
func (r *Space) arrive(w io.Writer, part, name string) *arrival {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.open == nil {
		r.open = map[string]bool{}
	}
	r.open[name] = true
	return &arrival{Writer: w, space: r, part: part, name: name}
}

// Write implements io.Writer. After [ErrNoSpace] the file must be removed.
func (a *arrival) Write(p []byte) (int, error) {
	if a.bytes += int64(len(p)); a.bytes >= step {
		if err := a.count(); err != nil {
			return 0, err
		}
	}
	return a.Writer.Write(p)
}

// count accounts for the bytes and frees space. After [ErrNoSpace] the file must be removed.
func (a *arrival) count() error {
	err := a.space.add(a.part, a.bytes)
	a.bytes = 0
	if errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil // errors of removal are reported by the periodic scan
}

// end ends writing.
func (a *arrival) end() {
	a.space.mutex.Lock()
	defer a.space.mutex.Unlock()
	delete(a.space.open, a.name)
}

// add accounts for bytes and frees space. After [ErrNoSpace] they must be removed.
func (r *Space) add(part string, bytes int64) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.added += bytes
	if !r.full && !r.much(r.added, r.Most) && !r.much(r.added, r.Each) {
		return nil
	}
	all, each, err := r.look()
	if err != nil {
		return err
	}
	if r.Most > 0 && all > r.Most || r.Each > 0 && each[part] > r.Each {
		return ErrNoSpace
	}
	return nil
}

// Expired reports whether a file that was changed at a time is no longer kept.
func (r *Space) Expired(changed time.Time) bool {
	return r.Age != ForGood && time.Since(changed) > cmp.Or(r.Age, KeptFor)
}

// much reports whether bytes exceed the spare part.
func (r *Space) much(bytes, most int64) bool { return most > 0 && bytes > most/spare }

// Clear removes expired files, and the oldest ones if all of them exceed the limits.
func (r *Space) Clear() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, _, err := r.look()
	return err
}

// stored is a file of the folder.
type stored struct {
	path, part string
	info       fs.FileInfo
}

// look scans the folder, removes files until an eighth of it is free, and returns the remaining bytes, in total and by
// channel.
func (r *Space) look() (all int64, each map[string]int64, err error) {
	root, err := r.Root.Open()
	if err != nil {
		return 0, nil, err
	}
	defer root.Close()
	files, err := r.list(root)
	errs := []error{err}
	slices.SortFunc(files, func(a, b stored) int { return a.info.ModTime().Compare(b.info.ModTime()) }) // oldest first
	each = map[string]int64{}
	for _, f := range files {
		all += f.info.Size()
		each[f.part] += f.info.Size()
	}
	over := func(bytes, most int64) bool { return most > 0 && bytes > most-most/spare }
	var needed map[string]bool
	crowded := Crowded{Folder: r.Name}
	for i, f := range files {
		old := r.Expired(f.info.ModTime())
		tooMuch := over(all, r.Most) || r.MaxFiles > 0 && len(files)-i > r.MaxFiles
		tooMuchHere := over(each[f.part], r.Each)
		if !old && !tooMuch && !tooMuchHere {
			continue
		}
		if r.open[filepath.Base(f.path)] || time.Since(f.info.ModTime()) < r.Young {
			continue
		}
		if !old {
			if needed == nil {
				if needed, err = r.needed(); err != nil {
					return all, each, errors.Join(append(errs, err)...)
				}
			}
			if needed[refOf(f.path)] {
				continue
			}
		}
		if err := root.Do(func(root *os.Root) error { return root.Remove(f.path) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		all -= f.info.Size()
		each[f.part] -= f.info.Size()
		if !old {
			crowded.Files++
			crowded.Bytes += f.info.Size()
			crowded.Most = r.Most
			if !tooMuch {
				crowded.Most = r.Each
			}
		}
	}
	r.added, r.full = 0, over(all, r.Most)
	for _, bytes := range each {
		r.full = r.full || over(bytes, r.Each)
	}
	if crowded.Files > 0 && time.Since(r.said) > crowdedEvery {
		select {
		case r.Crowded <- crowded:
			r.said = time.Now()
		default:
		}
	}
	return all, each, errors.Join(errs...)
}

// all lists the files of the folder, but for those that are being written.
func (r *Space) all() ([]stored, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	root, err := r.Root.Open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := r.list(root)
	return slices.DeleteFunc(files, func(f stored) bool { return r.open[filepath.Base(f.path)] }), err
}

// remove removes files of the folder.
func (r *Space) remove(files []stored) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	root, err := r.Root.Open()
	if err != nil {
		return err
	}
	defer root.Close()
	var errs []error
	for _, f := range files {
		if err := root.Do(func(root *os.Root) error { return root.Remove(f.path) }); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// needed returns the refs of files that must be kept.
func (r *Space) needed() (map[string]bool, error) {
	if r.Needs == nil {
		return map[string]bool{}, nil
	}
	// The scan is for all callers, so it does not use the context of one.
	ctx, cancel := context.WithTimeout(context.Background(), neededTime)
	defer cancel()
	return Needed(ctx, r.Needs)
}

// Needed returns the refs of files that waiting and running messages need, by which the host names them.
func Needed(ctx context.Context, needs Needs) (map[string]bool, error) {
	refs := map[string]bool{}
	found, err := needs.NeededMedia(ctx)
	if err != nil {
		return nil, err
	}
	for _, list := range found {
		for _, m := range list {
			if m.Ref == "" && m.Token != "" {
				m.Ref = domain.FetchedRef(m.Token)
			}
			refs[string(m.Ref)] = true
		}
	}
	return refs, nil
}

// refOf returns the ref in the name of a host's file.
func refOf(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// list returns the files of the folder, or none if it was replaced by a link, whose target is not the host's.
func (r *Space) list(root *workspace.Folder) ([]stored, error) {
	folders, errs := []string{r.Dir}, []error{}
	if r.Parts {
		names, err := namesIn(root, r.Dir)
		errs = append(errs, err)
		folders = folders[:0]
		for _, name := range names {
			folders = append(folders, filepath.Join(r.Dir, name))
		}
	}
	var files []stored
	for _, folder := range folders {
		if info, err := root.Lstat(folder); r.Parts && (err != nil || !info.IsDir()) {
			continue
		}
		names, err := namesIn(root, folder)
		errs = append(errs, err)
		for _, name := range names {
			path := filepath.Join(folder, name)
			if info, err := root.Lstat(path); err == nil && info.Mode().IsRegular() {
				files = append(files, stored{path, filepath.Base(folder), info})
			}
		}
	}
	return files, errors.Join(errs...)
}

// maxListed limits the files of a folder of the host that are seen; the agent can put others there.
const maxListed = 100_000

// namesIn returns the names in a folder of the host; none if it does not exist.
func namesIn(root *workspace.Folder, dir string) ([]string, error) {
	if info, err := root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("read folder %s: it %w", dir, wording.PathLink)
	}
	entries, _, err := root.List(dir, maxListed)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, workspace.ErrNoFolder):
		return nil, fmt.Errorf("read folder %s: it %w", dir, wording.PathNoFile)
	case err != nil:
		return nil, fmt.Errorf("read folder %s: %w", dir, err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}
