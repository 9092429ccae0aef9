package outgoing_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/media/outgoing"
)

// mount makes a file or folder appear at another path, which is made, until the test is over.
func mount(t *testing.T, from, at string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.Mkdir(at, 0o700)
	} else {
		err = os.WriteFile(at, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = syscall.Mount(from, at, "", syscall.MS_BIND, "")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("mounting needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// A mount in the workspace may lead to what belongs to the host. What else is mounted there is sent.
// Behaviour: files-out.
func TestNothingOfTheHostsIsSentThroughAMount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	for _, name := range []string{"state/clawhost.db", "state/clawhost.db-wal", "state/media/telegram/a", "config.hcl", "login/.credentials.json", "elsewhere/report.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for at, from := range map[string]string{
		"state": "state", "media": "state/media", "data.txt": "state/clawhost.db-wal", "settings.txt": "config.hcl", "login": "login", "elsewhere": "elsewhere",
	} {
		mount(t, filepath.Join(dir, from), filepath.Join(b.Workspace, at))
	}
	out := outgoing.New(outgoing.Options{
		Store: b.Store, Ledger: b.Rows, Workspace: b.Workspace,
		Own: []string{filepath.Join(dir, "state"), filepath.Join(dir, "config.hcl"), filepath.Join(dir, "missing"), filepath.Join(dir, "login")},
	}, hclog.NewNullLogger())
	files, problems := collect(t.Context(), out, []string{
		"state/clawhost.db", "media/telegram/a", "data.txt", "settings.txt", "login/.credentials.json", "elsewhere/report.txt",
	}, "", true, all)
	if diff := cmp.Diff([]string{"file report.txt (text/plain)"}, sent(files)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"clawhost.db belongs to the host, so it was not sent.", "a belongs to the host, so it was not sent.",
		"data.txt belongs to the host, so it was not sent.", "settings.txt belongs to the host, so it was not sent.",
		".credentials.json belongs to the host, so it was not sent.",
	}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// The host's own place may itself be reached over a mount, so that its path is nowhere near the workspace's.
func TestNothingOfTheHostsIsSentFromBelowAMount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "srv/clawhost.db", text)
	b.Write(t, "report.txt", text)
	state := filepath.Join(t.TempDir(), "state")
	mount(t, filepath.Join(b.Workspace, "srv"), state)
	out := outgoing.New(outgoing.Options{Store: b.Store, Ledger: b.Rows, Workspace: b.Workspace, Own: []string{state}}, hclog.NewNullLogger())
	files, problems := collect(t.Context(), out, []string{"srv/clawhost.db", "report.txt"}, "", true, all)
	if len(files) != 1 || len(problems) != 1 || problems[0] != "clawhost.db belongs to the host, so it was not sent." {
		t.Errorf("sent %v, problems %v", sent(files), problems)
	}
}
