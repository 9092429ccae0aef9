package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a hierarchy of version 2 that is only files: a delegated service with the host in a group of its own.
func tree(t *testing.T) (root, mounts string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"system.slice/claw.service/cgroup.subtree_control": "", "system.slice/claw.service/host/cgroup.procs": "1\n", "system.slice/cgroup.procs": "",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, "22 1 0:21 / /proc rw - proc proc rw\n29 23 0:26 / " + root + " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
}

func TestFind(t *testing.T) {
	t.Parallel()
	root, mounts := tree(t)
	service := filepath.Join(root, "system.slice", "claw.service")
	yes := func(dir string) bool { return dir == service }
	old := strings.ReplaceAll(mounts, "cgroup2 cgroup2 rw,nsdelegate", "cgroup cgroup rw,memory")
	for name, test := range map[string]struct {
		own, mounts string
		want        Place
		why         string
	}{
		"delegated":             {"0::/system.slice/claw.service/host\n", mounts, Place{service, true}, ""},
		"not delegated":         {"0::/system.slice/claw.service\n", mounts, Place{}, "Delegate=memory"},
		"the root":              {"0::/\n", mounts, Place{}, "Delegate=memory"},
		"not mounted":           {"0::/system.slice/claw.service/host\n", "", Place{}, "Delegate=memory"},
		"version 1":             {"5:cpu:/\n4:memory:/system.slice\n0::/\n", old, Place{filepath.Join(root, "system.slice"), false}, ""},
		"version 1, no folder":  {"4:memory:/nothing\n", old, Place{}, "may not make"},
		"version 1 in a mount":  {"4:memory:/a/system.slice\n", strings.ReplaceAll(old, " / "+root, " /a "+root), Place{filepath.Join(root, "system.slice"), false}, ""},
		"none":                  {"", mounts, Place{}, "no control groups"},
		"of another controller": {"5:cpu:/system.slice\n", old, Place{}, "no control groups"},
	} {
		got, err := find(test.own, test.mounts, yes)
		if got != test.want || (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %+v, %v, want %+v, %q", name, got, err, test.want, test.why)
		}
	}
}

// What is written to a group of version 2.
func TestGroup(t *testing.T) {
	t.Parallel()
	root, _ := tree(t)
	service := filepath.Join(root, "system.slice", "claw.service")
	g := Place{service, true}.Group("job")
	if err := os.Mkdir(g.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memory.max", "cgroup.procs", "memory.events"} { // as the kernel does
		if err := os.WriteFile(filepath.Join(g.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Limit(64 << 20); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(7); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"job/memory.max": "67108864", "job/cgroup.procs": "7", "cgroup.subtree_control": "+memory"} {
		if got, err := os.ReadFile(filepath.Join(service, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for text, want := range map[string]bool{"": false, "oom 3\noom_kill 0\n": false, "oom 3\noom_kill 2\n": true} {
		if err := os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if g.Exhausted() != want {
			t.Errorf("%q: exhausted is %t", text, !want)
		}
	}
	if err := (Place{root, true}).Group("none").Remove(); err != nil {
		t.Error(err)
	}
}
