package media

import (
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

	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ErrNoRoom says that a folder holds as much as it may, and that all of it is needed.
var ErrNoRoom = errors.New("there is no room for more files now")

// spare is the part of a folder's bytes that is free once it was looked through: an eighth. So it is not looked through for
// each file.
const spare = 8

// neededTime bounds the question which files are needed.
const neededTime = 10 * time.Second

// crowdedEvery is how often a folder says that it is full.
const crowdedEvery = 24 * time.Hour

// Crowded says that the oldest files of a folder were removed because it was full.
type Crowded struct {
	Folder string // as the operator knows it
	Files  int
	Bytes  int64
	Most   int64 // what the folder, or one channel's part of it, may hold
}

// String is a sentence for the operator.
func (c Crowded) String() string {
	return wording.FolderFull(c.Folder, megabytes(c.Most), megabytes(c.Bytes), c.Files)
}

// Needs says which files messages need that wait or are being answered, by instance.
type Needs interface {
	NeededMedia(ctx context.Context) (map[string][]chat.Media, error)
}

// SpaceOptions bound what a folder holds.
type SpaceOptions struct {
	// Most is how many bytes all files have together, and Each how many those of one channel, where the channels have folders;
	// zero: any number.
	Most, Each int64
	Needs      Needs
	// Crowded is told, at most once a day, that files were removed to make space. It must have room for a word; what does not
	// fit is lost.
	Crowded chan<- Crowded
}

// room bounds a folder: the oldest files go first, those that are needed do not go. It is safe for concurrent use.
type room struct {
	SpaceOptions
	name  string // as the operator knows it
	root  string
	dir   string        // in root
	parts bool          // the files are in folders of channels
	files int           // how many there may be; zero: any number
	young time.Duration // for how long after its last change a file stays

	mutex sync.Mutex
	added int64           // bytes that came since the folder was looked through
	open  map[string]bool // the names of what is being written, which stays
	full  bool            // it could not be brought to have room to spare: it is looked through again for the next file
	said  time.Time
}

// step is how many bytes of a file come before they are counted: what is being written takes up room, too.
const step = 1 << 20

// arrival is a file of a room while it is written.
type arrival struct {
	io.Writer
	room       *room
	part, name string
	bytes      int64 // not counted yet
}

// arrive begins to write a file of a name of its own. Its end must be called.
func (r *room) arrive(w io.Writer, part, name string) *arrival {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.open == nil {
		r.open = map[string]bool{}
	}
	r.open[name] = true
	return &arrival{Writer: w, room: r, part: part, name: name}
}

// Write implements io.Writer. [ErrNoRoom] says that the file must go again.
func (a *arrival) Write(p []byte) (int, error) {
	if a.bytes += int64(len(p)); a.bytes >= step {
		if err := a.count(); err != nil {
			return 0, err
		}
	}
	return a.Writer.Write(p)
}

// count makes room for what has come. [ErrNoRoom] says that the file must go again.
func (a *arrival) count() error {
	err := a.room.add(a.part, a.bytes)
	a.bytes = 0
	if errors.Is(err, ErrNoRoom) {
		return err
	}
	return nil // what it cannot remove, the one in time tells
}

// end says that nothing more is written.
func (a *arrival) end() {
	a.room.mutex.Lock()
	defer a.room.mutex.Unlock()
	delete(a.room.open, a.name)
}

// add counts bytes that come and makes room for more. [ErrNoRoom] says that they must go again.
func (r *room) add(part string, bytes int64) error {
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
		return ErrNoRoom
	}
	return nil
}

// much reports whether bytes are more than what is spare.
func (r *room) much(bytes, most int64) bool { return most > 0 && bytes > most/spare }

// clear removes what is too old, and the oldest files where all of them are too much.
func (r *room) clear() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, _, err := r.look()
	return err
}

// stored is a file of a room.
type stored struct {
	path, part string
	info       fs.FileInfo
}

// look looks through the folder, removes files until an eighth of it is free, and returns how many bytes are left, over all
// and by channel.
func (r *room) look() (all int64, each map[string]int64, err error) {
	root, err := os.OpenRoot(r.root)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer root.Close()
	files, err := r.list(root)
	errs := []error{err}
	slices.SortFunc(files, func(a, b stored) int { return a.info.ModTime().Compare(b.info.ModTime()) }) // the oldest first
	each = map[string]int64{}
	for _, f := range files {
		all += f.info.Size()
		each[f.part] += f.info.Size()
	}
	over := func(bytes, most int64) bool { return most > 0 && bytes > most-most/spare }
	var needed map[string]bool
	crowded := Crowded{Folder: r.name}
	for i, f := range files {
		old := time.Since(f.info.ModTime()) > keptFor
		tooMuch := over(all, r.Most) || r.files > 0 && len(files)-i > r.files
		tooMuchHere := over(each[f.part], r.Each)
		if !old && !tooMuch && !tooMuchHere {
			continue
		}
		if r.open[filepath.Base(f.path)] || time.Since(f.info.ModTime()) < r.young {
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
		if err := root.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// needed are the refs of the files that do not go.
func (r *room) needed() (map[string]bool, error) {
	refs := map[string]bool{}
	if r.Needs == nil {
		return refs, nil
	}
	// Whoever's call it was that filled the folder, it is looked through for all.
	ctx, cancel := context.WithTimeout(context.Background(), neededTime)
	defer cancel()
	found, err := r.Needs.NeededMedia(ctx)
	if err != nil {
		return nil, err
	}
	for _, list := range found {
		for _, m := range list {
			if m.Ref == "" && m.Token != "" {
				m.Ref = fetchedRef(m.Token)
			}
			refs[string(m.Ref)] = true
		}
	}
	return refs, nil
}

// refOf is the ref in the name of a file of the host's.
func refOf(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// list returns the files of the folder. Where a link stands in its place there are none: what that leads to is not the
// host's.
func (r *room) list(root *os.Root) ([]stored, error) {
	folders, errs := []string{r.dir}, []error{}
	if r.parts {
		names, err := namesIn(root, r.dir)
		errs = append(errs, err)
		folders = folders[:0]
		for _, name := range names {
			folders = append(folders, filepath.Join(r.dir, name))
		}
	}
	var files []stored
	for _, folder := range folders {
		if info, err := root.Lstat(folder); r.parts && (err != nil || !info.IsDir()) {
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

// namesIn are the names in a folder of the host's; none if it is not there.
func namesIn(root *os.Root, dir string) ([]string, error) {
	if info, err := root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("look into %s: it %w", dir, errLink)
	}
	folder, err := openDir(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return names, fmt.Errorf("look into %s: %w", dir, err)
	}
	return names, nil
}
