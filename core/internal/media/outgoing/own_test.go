package outgoing_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A second name of a file may be one of a file that the agent must not read, or of another chat's.
// Behaviour: files-out.
func TestAFileWithASecondNameIsNotSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "MEMORY.md", text)
	b.Write(t, "inbound/other.pdf", pdf)
	database := filepath.Join(t.TempDir(), "clawhost.db")
	if err := os.WriteFile(database, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(b.Workspace, "outbound/6d1c2a3e5f70"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{
		"notes.md": filepath.Join(b.Workspace, "MEMORY.md"), "data.txt": database,
		"outbound/6d1c2a3e5f70/report.pdf": filepath.Join(b.Workspace, "inbound/other.pdf"),
	} {
		if err := os.Link(from, filepath.Join(b.Workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	files, problems := collect(t.Context(), b.outgoing(), []string{"notes.md", "data.txt"}, run, false, all)
	if diff := cmp.Diff([]string{
		"notes.md has a second name (a hard link), so it was not sent.", "data.txt has a second name (a hard link), so it was not sent.",
		"report.pdf has a second name (a hard link), so it was not sent.",
	}, problems); diff != "" || len(files) > 0 {
		t.Errorf("sent %v, problems (-want +got):\n%s", sent(files), diff)
	}
}

// However a path out of the workspace is written, nothing is sent.
func TestPathsThatLeadOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "notes.txt", text)
	b.Write(t, "inbound/others.pdf", pdf)
	b.Write(t, "outbound/000000000000/others.txt", text)
	if err := os.Symlink("/proc/self", filepath.Join(b.Workspace, "self")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/etc/passwd", "/proc/self/environ", "/proc/self/fd/0", "/proc/1/cmdline", "/dev/stdin", "/dev/fd/0",
		"../../../../../../etc/passwd", "notes.txt/../../../../../../etc/passwd", "./../notes.txt", "..", "../", "/",
		"file:///etc/passwd", "file://localhost/etc/passwd", "file:/etc/passwd", "FILE:///etc/passwd", "file://%2e%2e/etc/passwd", "file://..%2f..%2fetc/passwd",
		"file:///proc/self/environ", "~/.ssh/id_rsa", "~root/.bashrc", "~", "$HOME/.bashrc", "self/environ", "self/fd/0",
		"inbound/others.pdf", "./inbound/../inbound/others.pdf", "INBOUND/others.pdf", filepath.Join(b.Workspace, "inbound/others.pdf"),
		"file://" + b.Workspace + "/inbound/others.pdf", "outbound/000000000000/others.txt", "outbound/6d1c2a3e5f70/../000000000000/others.txt",
		"notes.txt\x00", "\x00/etc/passwd", " ", "",
	} {
		files, problems := collect(t.Context(), b.outgoing(), []string{path}, "", false, all)
		if len(files) > 0 || len(problems) != 1 {
			t.Errorf("MEDIA:%q sends %v, problems %q", path, sent(files), problems)
		}
	}
}
