package outgoing_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
)

// Behaviour: files-list.
func TestList(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	home, other := filepath.Join(root, "home"), filepath.Join(root, "src")
	for name, content := range map[string]string{
		"home/a.txt": "abc", "home/MEMORY.md": "secret", "home/memory/x.md": "secret", "home/sub/b.txt": "", "src/main.go": "package main", "outside": "x",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	o := outgoing.New(outgoing.Options{Workspace: home}, hclog.NewNullLogger())
	for name, test := range map[string]struct {
		folder, path string
		private      bool
		want         []wording.Entry
		err          error
	}{
		"the workspace": {want: []wording.Entry{{Name: "a.txt", Size: 3}, {Name: "link", Size: -1}, {Name: "sub", Folder: true, Size: -1}}},
		"the workspace, for its owner alone": {private: true, want: []wording.Entry{
			{Name: "MEMORY.md", Size: 6}, {Name: "a.txt", Size: 3}, {Name: "link", Size: -1}, {Name: "memory", Folder: true, Size: -1}, {Name: "sub", Folder: true, Size: -1},
		}},
		"a folder in it":                 {path: "./sub/", want: []wording.Entry{{Name: "b.txt"}}},
		"a folder in it by its path":     {path: filepath.Join(home, "sub"), want: []wording.Entry{{Name: "b.txt"}}},
		"the memory":                     {path: "memory", err: wording.PathPrivate},
		"the memory, for its owner":      {path: "memory", private: true, want: []wording.Entry{{Name: "x.md", Size: 6}}},
		"another folder":                 {folder: other, want: []wording.Entry{{Name: "main.go", Size: 12}}},
		"what is above":                  {path: "..", err: wording.PathOutside},
		"what is outside":                {path: root, err: wording.PathOutside},
		"what is outside another folder": {folder: other, path: home, err: wording.PathOutside},
		"a file":                         {path: "a.txt", err: wording.PathMissing},
		"nothing":                        {path: "none", err: wording.PathMissing},
	} {
		got, more, err := o.List(test.folder, test.path, test.private)
		if !errors.Is(err, test.err) || more {
			t.Errorf("%s: %v, more: %v", name, err, more)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got, _, err := o.List("", "link", true); err == nil {
		t.Errorf("a link out of the folder is followed: %v", got)
	}
}
