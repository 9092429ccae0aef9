package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// lines is an append-only file of lines. append returns once its lines are on disk.
type lines struct {
	path  string
	file  *os.File
	size  int64 // of the file up to the end of its last whole line
	torn  bool  // whether there may be data after size
	count int
}

// openLines opens the file at path (0600) and passes each of its lines to each. Data after the last line feed is an
// incomplete line, which was never confirmed.
func openLines(path string, each func(line []byte)) (*lines, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &lines{path: path, file: file}
	for r := bufio.NewReader(file); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			l.torn = len(line) > 0
			return l, nil
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		l.size += int64(len(line))
		l.count++
		each(line)
	}
}

// append adds lines, all of them or a prefix. An incomplete line is removed before the next one.
func (l *lines) append(added ...[]byte) error {
	if l.torn {
		if err := l.file.Truncate(l.size); err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
	}
	l.torn = true
	all := join(added)
	if _, err := l.file.WriteAt(all, l.size); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	l.torn = false
	l.size += int64(len(all))
	l.count += len(added)
	return nil
}

// replace replaces the file's content.
func (l *lines) replace(all [][]byte) error {
	content := join(all)
	file, err := replaceFile(l.path, content)
	if err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	old := l.file
	l.file, l.size, l.count, l.torn = file, int64(len(content)), len(all), false
	if err := old.Close(); err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	return nil
}

func (l *lines) close() error { return l.file.Close() }

func join(all [][]byte) []byte {
	var b bytes.Buffer
	for _, line := range all {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// replaceFile replaces the file at path (0600), synced to disk, and returns it open.
func replaceFile(path string, content []byte) (_ *os.File, err error) {
	next := path + ".new"
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if _, err := file.Write(content); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if err := os.Rename(next, path); err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return file, errors.Join(dir.Sync(), dir.Close())
}
