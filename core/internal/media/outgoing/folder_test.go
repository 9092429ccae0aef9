package outgoing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/sdk/chat"
)

// own is the folder of the tests' conversation.
const own = "outbound/6d1c2a3e5f70"

func versionOf(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return outgoing.Version(info)
}

// answer has an answer become durable with what is collected for it, and returns what is sent with it and the notes.
func (b *bundle) answer(t *testing.T, paths []string, limits []chat.MediaLimit) (files, problems []string, dealt []domain.OutgoingFile) {
	t.Helper()
	found := taken(t, b.outgoing(), outgoing.Wanted{Channel: "telegram", Paths: paths, Session: run, Private: true, Limits: limits})
	if err := b.Rows.DeleteOutgoing(t.Context(), found.Files...); err != nil {
		t.Fatal(err)
	}
	b.Rows.Dealt = append(b.Rows.Dealt, found.Files...)
	for _, m := range found.Media {
		files = append(files, m.FileName)
	}
	return files, found.Problems, found.Files
}

// left is what is in the conversation's folder.
func (b *bundle) left(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.Workspace, own))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func wantLines(t *testing.T, what, want string, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Each file of the folder goes with one answer: what is too much with the next ones.
// Behaviour: files-out.
func TestAFolderOfManyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 12 {
		b.Write(t, fmt.Sprintf("%s/%02d.txt", own, i), fmt.Appendf(nil, "%d", i))
	}
	b.Write(t, own+"/.draft", text)
	b.Write(t, "report.pdf", pdf)
	files, problems, dealt := b.answer(t, []string{"report.pdf", own + "/11.txt", own + "/.draft"}, all)
	wantLines(t, "sent", "report.pdf 11.txt .draft 00.txt 01.txt 02.txt 03.txt 04.txt 05.txt 06.txt", files)
	wantLines(t, "told", "4 more files go with my next answers in this conversation: one takes 10.", problems)
	if err := b.outgoing().Clear(t.Context(), dealt); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "left", ".draft 07.txt 08.txt 09.txt 10.txt", b.left(t))
	files, problems, dealt = b.answer(t, nil, all)
	wantLines(t, "sent", "07.txt 08.txt 09.txt 10.txt", files)
	wantLines(t, "told", "", problems)
	if err := b.outgoing().Clear(t.Context(), dealt); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "left", ".draft", b.left(t))
	if len(b.Rows.Dealt) != 0 {
		t.Errorf("known are still %+v", b.Rows.Dealt)
	}
}

// What was sent is not sent again where it could not be removed, as where the host ended before. It goes later.
// Behaviour: files-out-once.
func TestSentFilesThatAreStillThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, own+"/a.txt", text)
	b.Write(t, own+"/b.txt", text)
	files, _, _ := b.answer(t, nil, all)
	wantLines(t, "sent", "a.txt b.txt", files)

	// The agent has put another one in the place of one of them.
	b.Write(t, own+"/b.txt", []byte("another one"))
	files, _, _ = b.answer(t, nil, all)
	wantLines(t, "sent", "b.txt", files)
	wantLines(t, "left", "a.txt b.txt", b.left(t))
	b.Write(t, own+"/b.txt", []byte("the third of them"))
	if err := b.outgoing().Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "left", "b.txt", b.left(t))
	if len(b.Rows.Dealt) != 0 {
		t.Errorf("known are still %+v", b.Rows.Dealt)
	}
	files, _, _ = b.answer(t, nil, all)
	wantLines(t, "sent", "b.txt", files)
}

// A file that is not sent stays, and the chat is informed of it once.
// Behaviour: files-out-once.
func TestFilesThatCannotBeSentStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, own+"/film.mp4", mp4)
	b.Write(t, own+"/deep/a.txt", text)
	b.Write(t, own+"/a.txt", text)
	if err := os.Symlink("a.txt", filepath.Join(b.Workspace, own, "link.txt")); err != nil {
		t.Fatal(err)
	}
	limits := []chat.MediaLimit{{Kind: chat.File, MaxBytes: 10}, {Kind: chat.Image}}
	for range 2 {
		b.Rows.Fail = nil
		files, problems, dealt := b.answer(t, nil, limits)
		wantLines(t, "sent", "", files)
		wantLines(t, "told", "a.txt (0.1 KB) is larger than the 0.1 KB that this chat takes. deep is a folder; only the files beside it are sent. "+
			"film.mp4 (0.1 KB) is larger than the 0.1 KB that this chat takes. link.txt is a link, or behind one, so it was not sent.", problems)
		for _, clean := range []func() error{
			func() error { return b.outgoing().Clear(t.Context(), dealt) },
			func() error { return b.outgoing().Discard(t.Context()) },
		} {
			if err := clean(); err != nil {
				t.Fatal(err)
			}
		}
		wantLines(t, "left", "a.txt deep film.mp4 link.txt", b.left(t))
		files, problems, _ = b.answer(t, nil, limits)
		wantLines(t, "sent", "", files)
		wantLines(t, "told", "", problems)
		b.Rows.Dealt = nil
	}
}

// A file that the host could not take is tried again. Where it cannot tell what was sent, the folder waits.
// Behaviour: files-out-once.
func TestHostFailuresDoNotGiveUpFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, own+"/a.txt", text)
	b.Rows.Fail = fmt.Errorf("the disk is full")
	found := taken(t, b.outgoing(), outgoing.Wanted{Channel: "telegram", Session: run, Private: true, Limits: all})
	if len(found.Media)+len(found.Problems)+len(found.Files) != 0 {
		t.Errorf("without the ledger: %+v", found)
	}
	found = taken(t, b.outgoing(), outgoing.Wanted{Channel: "telegram", Paths: []string{own + "/a.txt"}, Session: run, Private: true, Limits: all})
	if len(found.Media)+len(found.Files) != 0 || len(found.Problems) != 1 {
		t.Errorf("without rows: %+v", found)
	}
	b.Rows.Fail = nil
	files, _, _ := b.answer(t, nil, all)
	wantLines(t, "sent", "a.txt", files)
}

// What was sent before is not sent again as long as it is what it was. A file that is asked for by name leaves the others of the
// folder where they are, and is dealt with.
// Behaviour: message-tool-once, files-block.
func TestFilesThatWereSentBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{own + "/a.txt", own + "/b.txt", "c.txt"} {
		b.Write(t, name, text)
	}
	collect := func(w outgoing.Wanted) (names string, found outgoing.Collected) {
		t.Helper()
		w.Channel, w.Session, w.Limits = "telegram", run, all
		found = taken(t, b.outgoing(), w)
		for _, m := range found.Media {
			names += m.FileName + " "
		}
		return names + strings.Join(found.Problems, " "), found
	}
	got, first := collect(outgoing.Wanted{Paths: []string{own + "/a.txt", "c.txt"}, Named: true})
	wantLines(t, "named", "a.txt c.txt ", []string{got})
	if len(first.Files) != 1 || first.Files[0].Name != "a.txt" || !first.Files[0].Sent {
		t.Errorf("dealt with %+v", first.Files)
	}
	got, second := collect(outgoing.Wanted{Paths: []string{"c.txt", own + "/a.txt"}, Before: first.Sent})
	wantLines(t, "then", "b.txt ", []string{got})
	if len(second.Files) != 2 {
		t.Errorf("dealt with %+v", second.Files)
	}
	if err := os.Remove(filepath.Join(b.Workspace, own, "a.txt")); err != nil {
		t.Fatal(err)
	}
	got, _ = collect(outgoing.Wanted{Paths: []string{own + "/a.txt", "d.txt"}, Named: true, Before: first.Sent})
	wantLines(t, "taken away", "d.txt is not there, so it was not sent.", []string{got})
	got, _ = collect(outgoing.Wanted{Paths: []string{"c.txt"}, Named: true, Already: 10})
	wantLines(t, "too many with those before", "One more file was not sent: an answer takes 10.", []string{got})
	b.Write(t, "c.txt", append(text, text...))
	got, _ = collect(outgoing.Wanted{Paths: []string{"c.txt"}, Named: true, Before: first.Sent})
	wantLines(t, "another one", "c.txt ", []string{got})
}

// deepVariable has the test below remove the folder itself, with few files open.
const deepVariable = "DEEP"

// A folder that is nested deeper than the host may have files open is removed, too.
// Behaviour: files-out-expire.
func TestADeepFolderIsRemoved(t *testing.T) {
	t.Parallel()
	if os.Getenv(deepVariable) == "" {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n 100 && exec "$0" -test.run='^TestADeepFolderIsRemoved$'`, os.Args[0])
		cmd.Env = append(os.Environ(), deepVariable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	b := setup(t)
	old := filepath.Join(b.Workspace, "outbound", "abcdefabcdef")
	if err := os.MkdirAll(filepath.Join(old, strings.Repeat("d/", 300)), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(b.Workspace, "kept")
	then := time.Now().Add(-2 * files.KeptFor)
	err := errors.Join(os.WriteFile(outside, nil, 0o600), os.WriteFile(filepath.Join(old, "d/file"), nil, 0o600),
		os.Symlink(b.Workspace, filepath.Join(old, "d/link")), os.Chtimes(old, then, then))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.outgoing().Discard(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("when the host ends: %v", err)
	}
	if err := b.outgoing().Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(old)); len(left) > 0 || err != nil {
		t.Errorf("left is %v, %v", left, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// sized is a file's content, of 10 KB.
var sized = bytes.Repeat([]byte("0123456789"), 1024)

// The conversations' folders hold no more than they may together: the oldest files go, but none that a turn may work on.
// Behaviour: files-out.
func TestSpaceForOutgoingFiles(t *testing.T) {
	t.Parallel()
	b, crowded := setup(t), make(chan files.Crowded, 1)
	out := outgoing.New(outgoing.Options{
		Store: b.Store, Ledger: b.Rows, Workspace: b.Workspace, Space: files.SpaceOptions{Most: 16 * int64(len(sized)), Crowded: crowded},
	}, hclog.NewNullLogger())
	for n := range 20 {
		for _, session := range []string{"6d1c2a3e5f70", "000000000000"} {
			name := fmt.Sprintf("outbound/%s/%02d.bin", session, n)
			b.Write(t, name, sized)
			mediatest.Age(t, filepath.Join(b.Workspace, name), 60*(20-n)+1)
		}
	}
	b.Write(t, "mine.bin", bytes.Repeat(sized, 20))
	if err := out.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := mediatest.BytesIn(t, filepath.Join(b.Workspace, "outbound")); kept != 14*int64(len(sized)) {
		t.Errorf("%d bytes are kept, want 14 of 16 files", kept)
	}
	for name, want := range map[string]bool{"outbound/000000000000/00.bin": false, "outbound/000000000000/19.bin": true, "outbound/6d1c2a3e5f70/19.bin": true, "mine.bin": true} {
		if _, err := os.Stat(filepath.Join(b.Workspace, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case c := <-crowded:
		if c.Folder != "The folder outbound/ of the workspace" || c.Files != 26 {
			t.Errorf("it is said %+v", c)
		}
	default:
		t.Error("nothing is said of it")
	}
	b.Write(t, "outbound/000000000000/film.bin", bytes.Repeat(sized, 18)) // by a turn that runs
	if err := out.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := mediatest.BytesIn(t, filepath.Join(b.Workspace, "outbound")); kept != 18*int64(len(sized)) {
		t.Errorf("%d bytes are kept, want the new file alone", kept)
	}
}

// A link in the place of the folder of the conversations' folders leads to files that are not the host's to remove.
// Behaviour: files-out-expire.
func TestForgetFollowsNoLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := time.Now().Add(-files.KeptFor - time.Hour)
	own := filepath.Join(b.Workspace, "taxes")
	for _, path := range []string{own, filepath.Join(own, "2024")} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(own, "receipt"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"2024", "receipt"} {
		if err := os.Chtimes(filepath.Join(own, name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("taxes", filepath.Join(b.Workspace, "outbound")); err != nil {
		t.Fatal(err)
	}
	if err := b.outgoing().Discard(t.Context()); err == nil {
		t.Error("no problem says that outbound is no folder")
	}
	for _, name := range []string{"2024", "receipt"} {
		if _, err := os.Stat(filepath.Join(own, name)); err != nil {
			t.Error(err)
		}
	}
}

// Neither is the host held up by pipes in the places of its folders.
// Behaviour: files-out.
func TestPipesForFolders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out := b.outgoing()
	if err := syscall.Mkfifo(filepath.Join(b.Workspace, "outbound"), 0o600); err != nil {
		t.Fatal(err)
	}
	if folder, err := out.Open(run); err == nil {
		t.Errorf("the folder %q is made", folder)
	}
	if out.Discard(t.Context()) == nil {
		t.Error("no problem says that the folder is none")
	}
	if err := os.Remove(filepath.Join(b.Workspace, "outbound")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.Workspace, "outbound"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.Workspace, outgoing.Folder(run)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, problems := collect(t.Context(), out, nil, run, true, all); got != nil || problems != nil {
		t.Errorf("sent %v, %q", got, problems)
	}
	if err := out.Clear(t.Context(), []domain.OutgoingFile{{Folder: outgoing.Folder(run), Name: "x", Version: "1", Sent: true}}); err != nil {
		t.Error(err)
	}
}
