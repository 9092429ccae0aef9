package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Folder is an open workspace, or an open folder in it. Names are relative to it and have slashes; links that lead out of it
// are errors. It is safe for concurrent use.
type Folder struct {
	w    *Workspace
	root *os.Root // nil: the workspace does not exist

	mu    sync.Mutex
	seen  seen // what was looked at; nil: it is not recorded
	stuck bool // the file system did not answer once
}

// Close closes the folder, but not the files that were opened in it.
func (f *Folder) Close() error {
	if f.root == nil {
		return nil
	}
	return f.root.Close()
}

// in is [call] with the folder's root.
func in[T any](f *Folder, op func(*os.Root) (T, error)) (T, error) {
	if f.root == nil {
		var none T
		return none, fs.ErrNotExist
	}
	return call(f.w, func() (T, error) { return op(f.root) })
}

// Folder opens a folder in this one.
func (f *Folder) Folder(name string) (*Folder, error) {
	root, err := in(f, func(root *os.Root) (*os.Root, error) { return within(root, name) })
	if errors.Is(err, syscall.ENOTDIR) {
		err = ErrNoFolder
	}
	if err != nil {
		return nil, err
	}
	return &Folder{w: f.w, root: root}, nil
}

func within(root *os.Root, name string) (*os.Root, error) {
	if runtime.GOOS != "linux" {
		return root.OpenRoot(name)
	}
	// OpenRoot would wait for the other end of a pipe.
	dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d/", dir.Fd()))
}

// Stat describes a file or folder. It follows links.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	info, err := in(f, func(root *os.Root) (fs.FileInfo, error) { return root.Stat(name) })
	f.saw(name, info, err)
	return info, err
}

// Lstat describes a file, a folder or a link, which it does not follow.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) {
	info, err := in(f, func(root *os.Root) (fs.FileInfo, error) { return root.Lstat(name) })
	f.saw(name, info, err)
	return info, err
}

// ReadFile reads a regular file of at most so many bytes. With [ErrTooLong] it returns the beginning of a longer one.
func (f *Folder) ReadFile(name string, most int) ([]byte, error) {
	data, _, err := f.ReadFileInfo(name, most)
	return data, err
}

// ReadFileInfo is ReadFile, and also describes the file as it was before it was read.
func (f *Folder) ReadFileInfo(name string, most int) ([]byte, fs.FileInfo, error) {
	c, err := in(f, func(root *os.Root) (content, error) {
		file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return read(file, err, most)
	})
	f.saw(name, c.info, err)
	return c.data, c.info, err
}

// ReadOutside is ReadFile for a file of the operator outside the workspace, by its absolute path. Its links may lead anywhere.
func (f *Folder) ReadOutside(path string, most int) ([]byte, error) {
	c, err := call(f.w, func() (content, error) {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return read(file, err, most)
	})
	f.saw(path, c.info, err)
	return c.data, err
}

// List returns at most so many entries of a folder, sorted by name, and reports whether there are more. Which of them are then
// returned is undefined. It looks at each of them: where the names are enough, [Folder.Names] is faster.
func (f *Folder) List(name string, most int) (entries []fs.DirEntry, more bool, err error) {
	entries, more, err = list(f, name, most, (*os.File).ReadDir)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, err
}

// Names returns at most so many names of a folder, sorted, and reports whether there are more. Which of them are then returned is
// undefined.
func (f *Folder) Names(name string, most int) (names []string, more bool, err error) {
	names, more, err = list(f, name, most, (*os.File).Readdirnames)
	slices.Sort(names)
	return names, more, err
}

// list returns at most so many of what read returns of a folder, and reports whether there are more.
func list[E any](f *Folder, name string, most int, read func(*os.File, int) ([]E, error)) (entries []E, more bool, err error) {
	type listing struct {
		entries []E
		info    fs.FileInfo
	}
	l, err := in(f, func(root *os.Root) (listing, error) {
		folder, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return listing{}, err
		}
		defer folder.Close()
		info, err := folder.Stat()
		if err != nil {
			return listing{}, err
		}
		if !info.IsDir() {
			return listing{info: info}, ErrNoFolder
		}
		entries, err := read(folder, most+1)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return listing{entries, info}, err
	})
	f.saw(name, l.info, err)
	if len(l.entries) > most {
		l.entries, more = l.entries[:most], true
	}
	return l.entries, more, err
}

// Open opens a regular file for reading. The caller closes it.
func (f *Folder) Open(name string) (*File, error) {
	return in(f, func(root *os.Root) (*File, error) {
		file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = ErrNoFile
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &File{w: f.w, file: file, info: info}, nil
	})
}

// Append writes to the end of a regular file. If it is missing, Append creates it with mode 0600.
func (f *Folder) Append(name string, data []byte) error {
	_, err := in(f, func(root *os.Root) (int, error) {
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return 0, err
		}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = ErrNoFile
		}
		n := 0
		if err == nil {
			n, err = file.Write(data)
		}
		return n, errors.Join(err, file.Close())
	})
	return err
}

// Create creates a file that must not exist yet, with mode 0600.
func (f *Folder) Create(name string) (*os.File, error) {
	return in(f, func(root *os.Root) (*os.File, error) {
		return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	})
}

// Do calls change with the folder. The change must be quick, because it counts as one call.
func (f *Folder) Do(change func(*os.Root) error) error {
	_, err := in(f, func(root *os.Root) (struct{}, error) { return struct{}{}, change(root) })
	return err
}

// File is an open regular file.
type File struct {
	w    *Workspace
	file *os.File
	info fs.FileInfo
}

// Info describes the file as it was when it was opened.
func (f *File) Info() fs.FileInfo { return f.info }

// File returns the underlying file. Reading from it directly may block.
func (f *File) File() *os.File { return f.file }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) {
	return f.into(p, f.file.Read)
}

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	return f.into(p, func(b []byte) (int, error) { return f.file.ReadAt(b, off) })
}

// into reads into a buffer of its own, to which a late answer may still write, and copies it to p.
func (f *File) into(p []byte, read func([]byte) (int, error)) (int, error) {
	b := make([]byte, len(p))
	n, err := call(f.w, func() (int, error) { return read(b) })
	return copy(p, b[:n]), err
}
