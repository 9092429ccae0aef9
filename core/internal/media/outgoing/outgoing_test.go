package outgoing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Files of each sort.
var (
	pdf  = []byte(mediatest.PDF)
	opus = []byte(mediatest.Opus)
	mp3  = []byte(mediatest.MP3)
	mp4  = []byte(mediatest.MP4)
	text = []byte(mediatest.Text)
)

// bundle is a store of files and a workspace of a test's own.
type bundle struct{ *mediatest.Bundle }

func setup(t testing.TB) *bundle {
	t.Helper()
	return &bundle{mediatest.Setup(t)}
}

// run is the run of the tests.
const run = "6d1c2a3e-5f70-5b21-9c1d-0123456789ab"

// all is what a chat takes that takes everything.
var all = []chat.MediaLimit{
	{Kind: chat.File, MaxBytes: 50 << 20},
	{Kind: chat.Image, MaxBytes: 10 << 20},
	{Kind: chat.Audio, MaxBytes: 50 << 20},
	{Kind: chat.Voice, MaxBytes: 50 << 20},
	{Kind: chat.Video, MaxBytes: 50 << 20},
}

func (b *bundle) outgoing() *outgoing.Files {
	return outgoing.New(outgoing.Options{Store: b.Store, Ledger: b.Rows, Workspace: b.Workspace, Web: web.NewFetcher(web.NewGuard())}, hclog.NewNullLogger())
}

// collect collects what an answer on telegram sends.
func collect(ctx context.Context, out *outgoing.Files, paths []string, session string, private bool, limits []chat.MediaLimit) ([]chat.Media, []string) {
	found, err := out.Collect(ctx, outgoing.Wanted{Channel: "telegram", Paths: paths, Session: session, Private: private, Limits: limits})
	if err != nil {
		return nil, []string{err.Error()}
	}
	return found.Media, found.Problems
}

// taken is what an answer sends.
func taken(t *testing.T, out *outgoing.Files, w outgoing.Wanted) outgoing.Collected {
	t.Helper()
	found, err := out.Collect(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sent describes files, in order.
func sent(files []chat.Media) []string {
	var list []string
	for _, m := range files {
		list = append(list, fmt.Sprintf("%s %s (%s)", m.Kind, m.FileName, m.MIMEType))
	}
	return list
}

// Behaviour: files-out, files-audio, files-plainer.
func TestCollect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "charts/a.png", mediatest.Picture(t, "png"))
	b.Write(t, "song.mp3", mp3)
	b.Write(t, "said.ogg", opus)
	b.Write(t, "film.mp4", mp4)
	b.Write(t, "report.pdf", pdf)
	b.Write(t, "fake.png", []byte("<html>"))
	b.Write(t, "empty.txt", nil)
	b.Write(t, "a\u202eb_*c*.txt", text)
	b.Write(t, "outbound/6d1c2a3e5f70/b.csv", []byte("a,b\n"))
	b.Write(t, "outbound/6d1c2a3e5f70/a.jpg", mediatest.Picture(t, "jpeg"))
	b.Write(t, "outbound/6d1c2a3e5f70/.hidden", text)
	b.Write(t, "outbound/6d1c2a3e5f70/deep/c.txt", text)
	b.Write(t, "outbound/000000000000/other.txt", text)
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link.txt": outside, "home": filepath.Dir(outside), "within.txt": "report.pdf"} {
		if err := os.Symlink(to, filepath.Join(b.Workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(b.Workspace, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	inbox := []string{"image a.jpg (image/jpeg)", "file b.csv (text/csv)"}
	folder := "deep is a folder; only the files beside it are sent."
	for name, tc := range map[string]struct {
		paths    []string
		run      string
		limits   []chat.MediaLimit
		want     []string
		problems []string
	}{
		"nothing": {},
		"the run's folder": {
			run: run, want: inbox, problems: []string{folder},
		},
		"each sort": {
			paths: []string{"charts/a.png", "song.mp3", "said.ogg", "film.mp4", "report.pdf", "fake.png"},
			want: []string{
				"image a.png (image/png)", "audio song.mp3 (audio/mpeg)", "voice said.ogg (audio/ogg; codecs=opus)", "video film.mp4 (video/mp4)",
				"file report.pdf (application/pdf)", "file fake.png (text/html)",
			},
		},
		"ways to name a file": {
			paths: []string{
				"./charts/../report.pdf", filepath.Join(b.Workspace, "charts", "a.png"), "file://" + b.Workspace + "/song%2Emp3", " said.ogg ",
			},
			want: []string{"file report.pdf (application/pdf)", "image a.png (image/png)", "audio song.mp3 (audio/mpeg)", "voice said.ogg (audio/ogg; codecs=opus)"},
		},
		"twice the same": {
			paths: []string{"report.pdf", "./report.pdf", "outbound/6d1c2a3e5f70/b.csv"}, run: run,
			want: []string{"file report.pdf (application/pdf)", "file b.csv (text/csv)", "image a.jpg (image/jpeg)"}, problems: []string{folder},
		},
		"what is no file of the workspace's": {
			paths: []string{outside, "../" + filepath.Base(filepath.Dir(outside)) + "/secret.txt", "/etc/passwd", "/dev/zero", "~/.ssh/id_rsa", "report.pdf\x00.png"},
			problems: []string{
				"secret.txt is outside of my working folder, so it was not sent.", "passwd is outside of my working folder, so it was not sent.",
				"zero is outside of my working folder, so it was not sent.", "id_rsa is outside of my working folder, so it was not sent.",
				"report.pdf .png is outside of my working folder, so it was not sent.",
			},
		},
		"links": {
			paths: []string{"link.txt", "home/secret.txt", "within.txt"},
			problems: []string{
				"link.txt is a link, or behind one, so it was not sent.", "secret.txt is a link, or behind one, so it was not sent.",
				"within.txt is a link, or behind one, so it was not sent.",
			},
		},
		"what cannot be read": {
			paths: []string{"pipe", "charts", "gone.txt", "report.pdf/x", "empty.txt", ".", "data:text/plain,hello"},
			problems: []string{
				"pipe is not a file, so it was not sent.", "charts is not a file, so it was not sent.", "gone.txt is not there, so it was not sent.",
				"x is not there, so it was not sent.", "empty.txt is empty, so it was not sent.",
			},
		},
		"a name is no markup": {
			paths: []string{"a\u202eb_*c*.txt"}, limits: []chat.MediaLimit{{Kind: chat.Image}},
			problems: []string{"ab__c_.txt was not sent: this chat takes no files."},
		},
		"plainer kinds": {
			paths: []string{"charts/a.png", "said.ogg", "film.mp4"}, limits: []chat.MediaLimit{{Kind: chat.File}, {Kind: chat.Image, MaxBytes: 10}, {Kind: chat.Audio}},
			want: []string{"file a.png (image/png)", "audio said.ogg (audio/ogg; codecs=opus)", "file film.mp4 (video/mp4)"},
		},
		"no such kind": {
			paths: []string{"charts/a.png", "said.ogg", "film.mp4", "report.pdf"}, limits: []chat.MediaLimit{{Kind: chat.Image}}, want: []string{"image a.png (image/png)"},
			problems: []string{"said.ogg was not sent: this chat takes no sound.", "film.mp4 was not sent: this chat takes no videos.", "report.pdf was not sent: this chat takes no files."},
		},
		"a chat without files": {
			paths: []string{"charts/a.png"}, limits: []chat.MediaLimit{}, problems: []string{"a.png was not sent: this chat takes no files."},
		},
		"no run's name": {paths: []string{"report.pdf"}, run: "../charts", want: []string{"file report.pdf (application/pdf)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := tc.limits
			if limits == nil {
				limits = all
			}
			got, problems := collect(t.Context(), b.outgoing(), tc.paths, tc.run, true, limits)
			if diff := cmp.Diff(tc.want, sent(got)); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if name == "what cannot be read" { // one line stands for the last two
				tc.problems = append(tc.problems, "There were problems with 2 more files.")
			}
			if diff := cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Sound that is wanted as voice messages is that where the chat takes them, in their size. Nothing else changes.
// Behaviour: files-audio.
func TestSoundAsVoice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "song.mp3", mp3)
	b.Write(t, "said.ogg", opus)
	b.Write(t, "film.mp4", mp4)
	b.Write(t, own+"/other.mp3", mp3)
	for name, tc := range map[string]struct {
		limits []chat.MediaLimit
		want   string
	}{
		"a chat with voice messages": {all, "voice voice video voice"},
		"none of this size":          {[]chat.MediaLimit{{Kind: chat.Voice, MaxBytes: 1}, {Kind: chat.Audio}, {Kind: chat.File}}, "audio audio file audio"},
		"a chat with sound":          {[]chat.MediaLimit{{Kind: chat.Audio}, {Kind: chat.File}}, "audio audio file audio"},
		"a chat with files":          {[]chat.MediaLimit{{Kind: chat.File}}, "file file file file"},
	} {
		found := taken(t, b.outgoing(), outgoing.Wanted{
			Channel: "telegram", Paths: []string{"song.mp3", "said.ogg", "film.mp4"}, Session: run, Voice: true, Limits: tc.limits,
		})
		var kinds []string
		for _, m := range found.Media {
			kinds = append(kinds, m.Kind.String())
		}
		if got := strings.Join(kinds, " "); got != tc.want || found.Problems != nil {
			t.Errorf("%s: sent as %s, want %s; %q", name, got, tc.want, found.Problems)
		}
	}
}

// What is sent is a copy: the agent may change or remove its own.
func TestTheAgentsFileMayChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := b.Write(t, "report.pdf", pdf)
	got, problems := collect(t.Context(), b.outgoing(), []string{"report.pdf"}, "", true, all)
	if len(got) != 1 || problems != nil {
		t.Fatalf("%v, %q", got, problems)
	}
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, _ := collect(t.Context(), b.outgoing(), []string{"report.pdf"}, "", true, all)
	if len(again) != 1 || again[0].Ref == got[0].Ref {
		t.Errorf("again %v", again)
	}
	m, file, err := b.Open(t.Context(), "telegram", got[0].Ref)
	if err != nil || m != got[0] {
		t.Fatalf("%+v, %v", m, err)
	}
	defer file.Close()
	if read, err := io.ReadAll(file); err != nil || !bytes.Equal(read, pdf) {
		t.Errorf("the plugin downloads %q, %v", read, err)
	}
}

// Behaviour: files-plainer.
func TestLargeAndManyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sparse := b.Write(t, "report.pdf", pdf)
	if err := os.Truncate(sparse, 52<<20); err != nil {
		t.Fatal(err)
	}
	photo := b.Write(t, "photo.png", mediatest.Picture(t, "png"))
	if err := os.Truncate(photo, 11<<20); err != nil {
		t.Fatal(err)
	}
	got, problems := collect(t.Context(), b.outgoing(), []string{"report.pdf", "photo.png"}, "", true, all)
	if diff := cmp.Diff([]string{"file photo.png (image/png)"}, sent(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"report.pdf (52 MB) is larger than the 50 MB that this chat takes."}, problems); diff != "" {
		t.Error(diff)
	}
	if kept := b.Kept(t); len(kept) != 1 {
		t.Errorf("kept are %q", kept)
	}
	for i := range 12 {
		b.Write(t, fmt.Sprintf("outbound/6d1c2a3e5f70/%02d.txt", i), fmt.Appendf(nil, "%d", i))
	}
	got, problems = collect(t.Context(), b.outgoing(), nil, run, true, all)
	if len(got) != 10 || got[9].FileName != "09.txt" || len(problems) != 1 || problems[0] != "2 more files go with my next answers in this conversation: one takes 10." {
		t.Errorf("%q, %q", sent(got), problems)
	}
}

// What is not sent is not kept.
func TestWhatIsNotSentIsNotKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "report.pdf", pdf)
	got, problems := collect(t.Context(), b.outgoing(), []string{"report.pdf"}, "", true, []chat.MediaLimit{{Kind: chat.Image}})
	if got != nil || len(problems) != 1 || len(b.Kept(t)) != 0 {
		t.Errorf("sent %v, problems %q, kept %q", got, problems, b.Kept(t))
	}
	b.Rows.Fail = fmt.Errorf("the disk is full")
	got, problems = collect(t.Context(), b.outgoing(), []string{"report.pdf"}, "", true, all)
	if diff := cmp.Diff([]string{"report.pdf could not be read, so it was not sent."}, problems); diff != "" || got != nil || len(b.Kept(t)) != 0 {
		t.Errorf("sent %v, kept %q, problems %s", got, b.Kept(t), diff)
	}
}

// While this machine has no space for a copy, no file is sent, none is given up, and no partial copies remain.
// Behaviour: files-out.
func TestOutgoingFilesWaitForSpace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "a.pdf", pdf)
	b.Write(t, "b.pdf", pdf)
	b.Write(t, own+"/c.pdf", pdf)
	w := outgoing.Wanted{Channel: "telegram", Paths: []string{"a.pdf", "b.pdf"}, Session: run, Private: true, Limits: all}
	for most := range 3 {
		space := most
		b.Rows.Space = &space
		found, err := b.outgoing().Collect(t.Context(), w)
		var failure *agent.Failure
		if !errors.As(err, &failure) || failure.Class != agent.NoSpace || failure.Detail != "no space left on device" {
			t.Errorf("with space for %d files: %v", most, err)
		}
		if diff := cmp.Diff(outgoing.Collected{}, found); diff != "" || len(b.Kept(t)) != 0 {
			t.Errorf("with space for %d files %q are kept, and taken is %s", most, b.Kept(t), diff)
		}
	}
	b.Rows.Space = nil
	if found := taken(t, b.outgoing(), w); len(found.Media) != 3 || len(found.Problems) != 0 {
		t.Errorf("with space: %+v", found)
	}
}

// Behaviour: files-out.
func TestFoldersOfConversations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out := b.outgoing()
	if err := out.Discard(t.Context()); err != nil {
		t.Fatalf("without the folder: %v", err)
	}
	for range 2 {
		folder, err := out.Open(run)
		if err != nil || folder != "outbound/6d1c2a3e5f70" || folder != outgoing.Folder(run) {
			t.Fatalf("%q, %v", folder, err)
		}
	}
	old := filepath.Dir(b.Write(t, "outbound/111111111111/a.txt", text))
	young := filepath.Dir(b.Write(t, "outbound/222222222222/a.txt", text))
	before := time.Now().Add(-files.KeptFor - time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if err := out.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{old: false, young: true, filepath.Join(b.Workspace, "outbound/6d1c2a3e5f70"): true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, name := range []string{"", "..", "../../etc", "/etc", "6D1C2A3E"} {
		if folder, err := out.Open(name); err == nil || outgoing.Folder(name) != "" {
			t.Errorf("%q has the folder %q", name, folder)
		}
	}
}

// A link in the place of a folder of the host's leads nowhere, neither to be read nor to be removed.
func TestTheFoldersMayBeLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "6d1c2a3e5f70", "secret.txt")
	if err := os.Mkdir(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, text, 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-files.KeptFor - time.Hour)
	if err := os.Chtimes(filepath.Dir(secret), before, before); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.Workspace, "outbound")); err != nil {
		t.Fatal(err)
	}
	out := b.outgoing()
	if folder, err := out.Open(run); err == nil {
		t.Errorf("the folder %q is made", folder)
	}
	if got, problems := collect(t.Context(), out, nil, run, true, all); got != nil || problems != nil {
		t.Errorf("sent %v, %q", got, problems)
	}
	_ = out.Clear(t.Context(), []domain.OutgoingFile{{Folder: "outbound/6d1c2a3e5f70", Name: "secret.txt", Version: versionOf(t, secret), Sent: true}})
	_ = out.Discard(t.Context())
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

// Whatever the agent names, nothing that is outside of the workspace is sent.
// Behaviour: files-out.
func TestNothingOfTheOutsideIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside := t.TempDir()
	secret := []byte("the secret of the outside")
	if err := os.WriteFile(filepath.Join(outside, "x"), secret, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Write(t, "a/x", text)
	b.Write(t, "a/a/x", text)
	for name, to := range map[string]string{"l": outside, "a/l": "../l", "a/x.l": filepath.Join(outside, "x"), "up": "..", "a/self": ".", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(b.Workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	parts := rapid.SampledFrom([]string{"a", "a", "a", ".", "", "x", "l", "up", "..", ".", "", "self", "loop", "x.l", "a/l/x", outside, b.Workspace, "file://" + b.Workspace, "file://" + outside, "~", "%2e%2e", "\x00", "é"})
	out := b.outgoing()
	seen := 0
	rapid.Check(t, func(r *rapid.T) {
		path := strings.Join(append(rapid.SliceOfN(parts, 0, 4).Draw(r, "parts"), rapid.SampledFrom([]string{"x", "a/x", "l/x", "x.l"}).Draw(r, "last")), "/")
		got, problems := collect(t.Context(), out, []string{path}, "", true, all)
		if len(got)+len(problems) != 1 {
			r.Fatalf("%q: sent %v, problems %q", path, got, problems)
		}
		for _, m := range got {
			seen++
			_, file, err := b.Open(t.Context(), "telegram", m.Ref)
			if err != nil {
				r.Fatal(err)
			}
			content, err := io.ReadAll(file)
			_ = file.Close()
			if err != nil || !bytes.Equal(content, text) {
				r.Fatalf("%q sends %q, %v", path, content, err)
			}
		}
	})
	if seen == 0 {
		t.Error("no path was one of a file")
	}
}

func FuzzLocal(f *testing.F) {
	for _, path := range []string{"a/b", "../x", "/w/x", "/w", "/wx", "file:///w/x", "~/x", "a/../../x", "\x00", "/w/../etc"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		found, err := outgoing.Local("/w", path)
		if err == nil && (!filepath.IsLocal(found) || found == "." || found != filepath.Clean(found) || strings.ContainsRune(found, 0)) {
			t.Errorf("%q is %q", path, found)
		}
	})
}

// While the agent changes what a path leads to, what is sent is of the workspace all the same.
// Behaviour: files-out.
func TestAPathThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside := t.TempDir()
	secret := []byte("the secret of the outside")
	if err := os.WriteFile(filepath.Join(outside, "x"), secret, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Write(t, "real/x", text)
	place := filepath.Join(b.Workspace, "d")
	ctx, cancel := context.WithCancel(t.Context())
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			to := []string{"real", outside, ".."}[i%3]
			next := place + ".next"
			if i%4 == 0 {
				_ = os.Mkdir(next, 0o700)
				_ = os.Link(filepath.Join(b.Workspace, "real", "x"), filepath.Join(next, "x"))
			} else {
				_ = os.Symlink(to, next)
			}
			_ = os.RemoveAll(place)
			_ = os.Rename(next, place)
		}
	})
	defer changing.Wait()
	defer cancel()
	out := b.outgoing()
	for range 300 {
		got, _ := collect(t.Context(), out, []string{"d/x"}, "", true, all)
		for _, m := range got {
			_, file, err := b.Open(t.Context(), "telegram", m.Ref)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(file)
			_ = file.Close()
			if err != nil || !bytes.Equal(content, text) {
				t.Fatalf("sent %q, %v", content, err)
			}
		}
	}
}

// The owner's memory and what other chats have sent or are sent go to the owner's own chat only, whoever names them.
// Behaviour: files-private.
func TestWhatIsPrivate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out := b.outgoing()
	private := []string{"MEMORY.md", "memory/2024-03-15.md", "inbound/abc.txt", "outbound/222222222222/a.txt", "Memory/x.txt"}
	open := []string{"charts/may.txt", "outbound/6d1c2a3e5f70/mine.txt", "memory.txt"}
	for _, path := range append(private, open...) {
		b.Write(t, path, text)
	}
	for _, path := range private {
		for _, named := range []string{path, "./" + path, filepath.Join(b.Workspace, path)} {
			if got, problems := collect(t.Context(), out, []string{named}, "", false, all); got != nil || len(problems) != 1 || !strings.Contains(problems[0], "is not for this chat") {
				t.Errorf("%s: sent %v, problems %q", named, got, problems)
			}
		}
		if got, problems := collect(t.Context(), out, []string{path}, "", true, all); len(got) != 1 || problems != nil {
			t.Errorf("%s to the owner: sent %v, problems %q", path, got, problems)
		}
	}
	if got, problems := collect(t.Context(), out, open, run, false, all); len(got) != len(open) || problems != nil {
		t.Errorf("sent %v, problems %q", got, problems)
	}
}
