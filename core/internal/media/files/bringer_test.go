package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

// network has files by their tokens. What it is to do before that stands in turns: each is of one try.
type network struct {
	files map[chat.FileToken][]byte

	mu    sync.Mutex
	turns []func(ctx context.Context) (io.ReadCloser, error)
	tries []time.Time
	open  int // files that are read now
	most  int
}

func (n *network) FetchFile(ctx context.Context, instance string, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tries = append(n.tries, time.Now())
	if len(n.turns) > 0 {
		turn := n.turns[0]
		n.turns = n.turns[1:]
		return turn(ctx)
	}
	content, known := n.files[token]
	if !known || instance != "telegram" {
		return nil, &chat.FileError{Problem: "is gone", Err: errors.New("404")}
	}
	n.open++
	n.most = max(n.most, n.open)
	return &opened{Reader: bytes.NewReader(content), network: n}, nil
}

type opened struct {
	io.Reader
	network *network
}

func (o *opened) Close() error {
	o.network.mu.Lock()
	defer o.network.mu.Unlock()
	o.network.open--
	return nil
}

// broken is a file that ends with an error behind some of its bytes.
func broken(err error) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("so"), breaks{err})), nil
	}
}

type breaks struct{ err error }

func (b breaks) Read([]byte) (int, error) { return 0, b.err }

// stalled is a file of which no byte comes.
func stalled(ctx context.Context) (io.ReadCloser, error) { return io.NopCloser(waiting{ctx}), nil }

type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

// dripping is a file of which a byte comes every ten seconds, without end.
func dripping(ctx context.Context) (io.ReadCloser, error) { return io.NopCloser(drip{ctx}), nil }

type drip struct{ ctx context.Context }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(10 * time.Second):
		p[0] = 'x'
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func bringer(b *mediatest.Bundle, n files.Network) *files.Bringer {
	return files.NewBringer(b.Store, n, hclog.NewNullLogger())
}

// inbound are the files of a bundle's workspace.
func inbound(b *mediatest.Bundle) *files.Inbound {
	return files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{})
}

// withFiles is a message with files.
func withFiles(files ...chat.Media) domain.Queued {
	return domain.Queued{UUID: "1", Message: domain.Message{Channel: "telegram", Text: "look", Media: files}}
}

// brought brings the only file of a message.
func brought(t *testing.T, b *mediatest.Bundle, n files.Network, file chat.Media) chat.Media {
	t.Helper()
	messages, err := bringer(b, n).Bring(t.Context(), inbound(b), withFiles(file))
	if err != nil {
		t.Fatal(err)
	}
	return messages[0].Message.Media[0]
}

// shows looks what the agent can read of a file.
func shows(t *testing.T, b *mediatest.Bundle, m chat.Media) string {
	t.Helper()
	_, path, err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Show(t.Context(), "telegram", m)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Files are fetched when they are needed, those of the message that is answered too, side by side, and once.
// Behaviour: file-fetch.
func TestBring(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	n := &network{files: map[chat.FileToken][]byte{}}
	var files []chat.Media
	for i := range 9 {
		token := chat.FileToken(fmt.Sprint("file ", i))
		n.files[token] = fmt.Appendf(nil, "the text of file %d", i)
		files = append(files, chat.Media{Kind: chat.File, FileName: fmt.Sprint(i), Token: token})
	}
	message := withFiles(files[:8]...)
	message.Message.ReplyTo = &chat.Quote{Media: []chat.Media{files[8], {Kind: chat.Image, Problem: "is too large"}}}
	for attempt := range 2 {
		got, err := bringer(b, n).Bring(t.Context(), inbound(b), message)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range slices.Concat(got[0].Message.Media, got[0].Message.ReplyTo.Media[:1]) {
			if want := fmt.Sprintf("the text of file %d", i); shows(t, b, m) != want || m.Size != int64(len(want)) || m.FileName != fmt.Sprint(i) {
				t.Errorf("attempt %d: file %d is %+v", attempt, i, m)
			}
		}
		if m := got[0].Message.ReplyTo.Media[1]; m.Problem != "is too large" {
			t.Errorf("attempt %d: the unavailable file is %+v", attempt, m)
		}
	}
	if len(n.tries) != 9 {
		t.Errorf("9 files were fetched %d times", len(n.tries))
	}
	if n.most > 4 || n.open != 0 {
		t.Errorf("%d files were fetched at the same time, %d are still open", n.most, n.open)
	}
	if message.Message.Media[0].Ref != "" || message.Message.ReplyTo.Media[0].Ref != "" {
		t.Error("the message itself was changed")
	}
	if got := b.Kept(t); len(got) != 9 {
		t.Errorf("kept are %q", got)
	}
}

// Temporary failures are tried again, with growing pauses or as long as the network asks for; permanent ones are reported.
// Behaviour: file-retry.
func TestFilesThatAreHardToFetch(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut off")
	type turns []func(context.Context) (io.ReadCloser, error)
	refused := func(err error) func(context.Context) (io.ReadCloser, error) {
		return func(context.Context) (io.ReadCloser, error) { return nil, err }
	}
	for name, tc := range map[string]struct {
		turns turns
		file  chat.Media
		least time.Duration
		most  time.Duration
		want  string // the problem
	}{
		"cut off":           {turns: turns{broken(cut), broken(cut), refused(cut)}, least: 3 * time.Second, most: 4 * time.Second},
		"stalled":           {turns: turns{stalled}, least: 20 * time.Second, most: 21 * time.Second},
		"dripping":          {turns: turns{dripping}, least: 3 * time.Minute, most: 4 * time.Minute, want: "could not be fetched"},
		"limited":           {turns: turns{refused(&chat.FileError{RetryAfter: 40 * time.Second})}, least: 40 * time.Second, most: 41 * time.Second},
		"limited for long":  {turns: turns{refused(&chat.FileError{RetryAfter: time.Hour})}, most: time.Second, want: "could not be fetched"},
		"gone":              {turns: turns{refused(&chat.FileError{Problem: "is gone"})}, most: time.Second, want: "is gone"},
		"gone in its midst": {turns: turns{broken(&chat.FileError{Problem: "is gone"})}, most: time.Second, want: "is gone"},
		"never":             {turns: slices.Repeat(turns{broken(cut)}, 100), least: 100 * time.Second, most: 2 * time.Minute, want: "could not be fetched"},
		"by an old plugin":  {turns: turns{refused(fmt.Errorf("%w: no such call", errors.ErrUnsupported))}, most: time.Second, want: "could not be fetched"},
		"too large":         {file: chat.Media{Token: "large"}, most: time.Second, want: "is larger than 196 KB"},
		"said to be":        {file: chat.Media{Token: "text", Size: mediatest.MaxBytes + 1}, most: time.Second, want: "is larger than 196 KB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mediatest.Setup(t)
			synctest.Test(t, func(t *testing.T) {
				n := &network{files: map[chat.FileToken][]byte{"text": text, "large": make([]byte, mediatest.MaxBytes+1)}, turns: tc.turns}
				if tc.file.Token == "" {
					tc.file.Token = "text"
				}
				began := time.Now()
				m := brought(t, b, n, tc.file)
				if m.Problem != tc.want || (m.Ref == "") != (tc.want != "") || m.Ref == "" && m.Token != "" {
					t.Errorf("the file is %+v, want the problem %q", m, tc.want)
				}
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("it took %v and %d tries", took, len(n.tries))
				}
				if kept := b.Kept(t); (len(kept) == 1) != (tc.want == "") {
					t.Errorf("kept are %q", kept)
				}
			})
		})
	}
}

// A file of a type that is not accepted is reported as such.
// Behaviour: file-accept.
func TestAFetchedFileOfAnotherType(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: mediatest.MaxBytes, Accept: []string{"image/*"}})
	m := brought(t, b, &network{files: map[chat.FileToken][]byte{"text": text}}, chat.Media{Kind: chat.Image, Token: "text"})
	if m.Problem != "is of a type that is not accepted here: text/plain" || len(b.Kept(t)) != 0 {
		t.Errorf("the file is %+v, kept are %q", m, b.Kept(t))
	}
}

// What this machine lacks, and a channel that is being started, hold the turn up in its place for some seconds only, and are not
// counted against the file, however long they take.
// Behaviour: file-retry.
func TestHostFailuresAreRetriedWhileFetching(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want agent.Failure
	}{
		"a full disk":         {fmt.Errorf("write x: %w", syscall.ENOSPC), agent.Failure{Class: agent.NoSpace, Detail: "no space left on device"}},
		"no descriptor":       {&os.PathError{Err: syscall.EMFILE}, agent.Failure{Class: agent.NoSpace, Detail: "too many open files"}},
		"a plugin's own want": {&chat.FileError{NoSpace: true}, agent.Failure{Class: agent.NoSpace, Detail: "a plugin has no space for a file"}},
		"no plugin":           {plugins.ErrAway, agent.Failure{Class: agent.ChannelAway}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mediatest.Setup(t)
			synctest.Test(t, func(t *testing.T) {
				missing := func(context.Context) (io.ReadCloser, error) { return nil, test.err }
				n := &network{files: map[chat.FileToken][]byte{"text": text}, turns: slices.Repeat([]func(context.Context) (io.ReadCloser, error){missing}, 200)}
				held := 0
				for ; len(n.turns) > 0; held++ {
					began := time.Now()
					_, err := bringer(b, n).Bring(t.Context(), inbound(b), withFiles(chat.Media{Token: "text"}))
					if took := time.Since(began); took > 5*time.Second {
						t.Fatalf("the turn waited %v in its place", took)
					}
					if err == nil {
						break
					}
					var failure *agent.Failure
					if !errors.As(err, &failure) || failure.Class != test.want.Class || failure.Detail != test.want.Detail || !errors.Is(err, test.err) {
						t.Fatalf("the error is %v", err)
					}
				}
				if held < 10 {
					t.Errorf("it was held %d times", held)
				}
				if m := brought(t, b, n, chat.Media{Token: "text"}); shows(t, b, m) != string(text) {
					t.Errorf("the file is %+v", m)
				}
			})
		})
	}
}

// The time for which something is missing does not count as the file's, and what is the file's fault still does.
// Behaviour: file-retry.
func TestAFileThatFailsBetweenOutages(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	synctest.Test(t, func(t *testing.T) {
		fails := broken(errors.New("cut off"))
		away := func(context.Context) (io.ReadCloser, error) { return nil, plugins.ErrAway }
		n := &network{turns: slices.Repeat([]func(context.Context) (io.ReadCloser, error){fails, fails, away, fails}, 50)}
		for range 50 {
			messages, err := bringer(b, n).Bring(t.Context(), inbound(b), withFiles(chat.Media{Token: "text"}))
			var failure *agent.Failure
			if errors.As(err, &failure) {
				continue
			}
			if err != nil || messages[0].Message.Media[0].Problem != "could not be fetched" {
				t.Errorf("got %+v, %v", messages, err)
			}
			return
		}
		t.Errorf("it was not given up in %d tries", len(n.tries))
	})
}

// However many files are unavailable, the log has a bounded number of lines, and says how many are missing.
func TestComplaintsAreBounded(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := hclog.New(&hclog.LoggerOptions{Output: &log})
		bringer := files.NewBringer(b.Store, &network{}, logger)
		fail := func() {
			if _, err := bringer.Bring(t.Context(), inbound(b), withFiles(chat.Media{Token: "gone"})); err != nil {
				t.Fatal(err)
			}
		}
		for range 1000 {
			fail()
		}
		if lines := strings.Count(log.String(), "\n"); lines < 100 || lines > 250 {
			t.Errorf("there are %d lines of 1000 files", lines)
		}
		time.Sleep(time.Minute)
		fail()
		if logged := strings.Count(log.String(), "a file is not available"); !strings.Contains(log.String(), fmt.Sprintf("suppressed: lines=%d\n", 1000-logged)) {
			t.Errorf("%d files of 1001 are logged, and not how many are missing", logged)
		}
	})
}

// A stop ends the fetching at once.
// Behaviour: file-fetch.
func TestAStopEndsTheFetching(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("somebody said stop")
		for name, turn := range map[string]func(context.Context) (io.ReadCloser, error){"in a try": stalled, "in a pause": broken(errors.New("cut off"))} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
			began := time.Now()
			n := &network{turns: slices.Repeat([]func(context.Context) (io.ReadCloser, error){turn}, 10)}
			_, err := bringer(b, n).Bring(ctx, inbound(b), withFiles(chat.Media{Token: "1"}, chat.Media{Token: "2"}))
			if took := time.Since(began); !errors.Is(err, stop) || took != 100*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		}
		if kept := b.Kept(t); len(kept) != 0 {
			t.Errorf("kept are %q", kept)
		}
	})
}

// The files of one turn have a bound together, by what they are said to be and by what they are.
// Behaviour: file-fetch.
func TestFilesTogether(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	b.Store = files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: 1 << 30})
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context) (io.ReadCloser, error) {
			<-time.After(10 * time.Second)
			return io.NopCloser(bytes.NewReader(text)), nil
		}
		n := &network{turns: slices.Repeat([]func(context.Context) (io.ReadCloser, error){slow}, 2)}
		got, err := bringer(b, n).Bring(t.Context(), inbound(b), withFiles(chat.Media{Token: "1", Size: 600 << 20}, chat.Media{Token: "2", Size: 600 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		files := got[0].Message.Media
		if files[0].Ref == "" {
			files[0], files[1] = files[1], files[0]
		}
		if files[0].Ref == "" || files[1].Problem != "is one of several files with more than the 1024 MB that are fetched together" {
			t.Errorf("the files are %+v", files)
		}
	})
}
