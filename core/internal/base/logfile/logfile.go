// Package logfile writes the log to a file, for hosts whose log nobody else keeps.
package logfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"gopkg.in/natefinch/lumberjack.v2"
)

// Megabyte is the unit in which files are bounded.
const Megabyte = 1 << 20

// File is a log file. It is replaced when it is full, and the last full ones are kept beside it, with the time in their names. It is safe
// for concurrent use.
type File struct {
	out     io.Writer
	files   lumberjack.Logger
	failing atomic.Bool
}

// Open opens or creates a log file that only this user can read, with its folder. What is written to it also goes to out. A file has at
// most maxSize bytes, in whole megabytes, and keep full ones stay; both are at least 1. A relative path is one in the working folder.
func Open(path string, maxSize int64, keep int, out io.Writer) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the log: %w", err)
	}
	if err := makePrivate(path); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return &File{out: out, files: lumberjack.Logger{Filename: path, MaxSize: int(maxSize / Megabyte), MaxBackups: keep}}, nil
}

// makePrivate creates a file, if there is none, and makes it private. Those that replace it get its mode.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK, 0o600) // a pipe would make it wait
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return file.Chmod(0o600)
}

// Write implements io.Writer. While the file cannot be written, as on a full disk, the entries still go to out, with one line that says so.
func (f *File) Write(p []byte) (int, error) {
	if _, err := f.files.Write(p); err == nil {
		f.failing.Store(false)
	} else if !f.failing.Swap(true) {
		_, _ = fmt.Fprintf(f.out, "clawhost: the log file cannot be written: %v\n", err)
	}
	return f.out.Write(p)
}

// Close closes the file.
func (f *File) Close() error { return f.files.Close() }
