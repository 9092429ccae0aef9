package scripts_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// unpacks puts the files of a support bundle into a folder, profiles unpacked, so that each of its bytes can be searched.
func (s *stage) unpacks(ts *testscript.TestScript, args []string) error {
	packed, err := os.Open(ts.MkAbs(args[0]))
	if err != nil {
		return err
	}
	defer packed.Close()
	info, err := packed.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		return fmt.Errorf("the bundle is open to others: %v, %w", info, err)
	}
	unpack, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	dir := ts.MkAbs(args[1])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for files := tar.NewReader(unpack); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
			inner, err := gzip.NewReader(bytes.NewReader(content))
			if err != nil {
				return err
			}
			if content, err = io.ReadAll(inner); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(header.Name)), content, 0o600); err != nil {
			return err
		}
	}
}

// lacks searches each file of a folder for what must not be in it, in any case.
func (s *stage) lacks(ts *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) < 2 {
		return errors.New("usage: lacks FOLDER PATTERN…")
	}
	paths, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("there is nothing to search: %w", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, text := range args[1:] {
			pattern, err := regexp.Compile("(?i)" + text)
			if err != nil {
				return err
			}
			if at := pattern.FindIndex(content); at != nil {
				return fmt.Errorf("%s has what matches %q: %q", filepath.Base(path), text, content[max(0, at[0]-100):min(len(content), at[1]+100)])
			}
		}
	}
	return nil
}
