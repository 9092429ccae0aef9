package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/folder"
)

// Behaviour: folder-list.
func TestFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"home", "src/app", "src/web", "src/.git", "src/state/db", "work/app", "work/app/deep", "outside"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "src/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"src/link", "work/app/link"} {
		if err := os.Symlink(filepath.Join(root, "outside"), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	f := folder.New(root+"/home", []string{root + "/src/*", root + "/work/*"}, []string{root + "/src/state/db", root + "/none"})
	want := []folder.Folder{
		{Path: root + "/home", Name: "home"},
		{Path: root + "/src/app", Name: "src/app"},
		{Path: root + "/src/web", Name: "web"},
		{Path: root + "/work/app", Name: "work/app"},
	}
	if diff := cmp.Diff(want, f.List()); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	for name, path := range map[string]string{
		"web": "/src/web", "src/app": "/src/app", root + "/work/app": "/work/app", "web/": "/src/web", " home ": "/home",
		"app": "", "eb": "", "": "", "link": "", "outside": "", "..": "", root + "/src/../outside": "", "state": "", "file": "", ".git": "", "deep": "",
	} {
		found, ok := f.Find(name)
		if ok != (path != "") || ok && found.Path != root+path {
			t.Errorf("%q is %q, %v, want %q", name, found.Path, ok, path)
		}
	}
	for path, has := range map[string]bool{
		"/home": true, "/src/app": true, "/src/.git": true, "/src/link": false, "/src/state": false, "/outside": false, "/src/gone": false, "/src/file": false,
	} {
		if f.Has(root+path) != has {
			t.Errorf("may work in %s: %v", path, !has)
		}
	}
}

// No folder shows what is private in a workspace.
// Behaviour: folder-list, files-list.
func TestFoldersAndWorkspaces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"src/home/memory", "src/home/Inbound", "src/home/app", "src/server/app", "src/app", "src/above/main"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"server": "src/server", "home": "src/home"} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for home, has := range map[string]map[string]bool{
		"/src/home": {
			"/src/app": true, "/src/home/app": true, "/src/home/memory": false, "/src/home/Inbound": false,
			"/src/server": false, "/src/server/app": false, "/src/above": false,
		},
		"/src/above/main": {"/src/above": false, "/src/app": true, "/src/home": false},
		"/src/server":     {"/src/server/app": true, "/src/home/app": false},
	} {
		f := folder.New(root+home, []string{root + "/src/*", root + "/src/*/*"}, []string{root + "/home", root + "/server", root + "/src/above/main"})
		for path, want := range has {
			if f.Has(root+path) != want {
				t.Errorf("an agent in %s may work in %s: %v", home, path, !want)
			}
		}
	}
}

// A pattern whose fixed part leads through a link is as good as without.
func TestFoldersBehindALink(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "real/app"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "real"), filepath.Join(root, "src")); err != nil {
		t.Fatal(err)
	}
	f := folder.New(root+"/home", []string{root + "/src/*"}, nil)
	if got, ok := f.Find("app"); !ok || got.Path != root+"/src/app" {
		t.Errorf("app is %+v, %v", got, ok)
	}
}
