package hostapi_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/operate/hostapi"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// slow is an upload whose parts come one by one, as long as its call lasts.
type slow struct {
	grpc.ServerStream
	call  context.Context // it is the stream's
	parts chan *pluginv1.UploadRequest
	sent  *pluginv1.UploadResponse
}

func (s *slow) Context() context.Context { return s.call }

func (s *slow) Recv() (*pluginv1.UploadRequest, error) {
	select {
	case part, ok := <-s.parts:
		if !ok {
			return nil, io.EOF
		}
		return part, nil
	case <-s.call.Done():
		return nil, s.call.Err()
	}
}

func (s *slow) SendAndClose(r *pluginv1.UploadResponse) error {
	s.sent = r
	return nil
}

// noRows keep nothing of what is known of files.
type noRows struct{ files.Rows }

func (noRows) PutMedia(context.Context, string, chat.Media, time.Time) error { return nil }

// uploads are the uploads of one plugin, in a bubble of its own time.
type uploads struct {
	server pluginv1.MediaStoreServer
	ended  chan error
}

func newUploads(t *testing.T) *uploads {
	t.Helper()
	stored := files.NewStore(files.Options{Dir: t.TempDir(), Rows: noRows{}, MaxBytes: maxMedia})
	api := hostapi.New(hostapi.Options{Plugins: registry(), Files: stored}, nil)
	return &uploads{server: api.MediaStore("echo"), ended: make(chan error, 300)}
}

// begin begins an upload, which goes on with its parts.
func (u *uploads) begin(t *testing.T) *slow {
	call, end := context.WithCancel(t.Context())
	s := &slow{call: call, parts: make(chan *pluginv1.UploadRequest)}
	go func() {
		defer end() // as gRPC does
		u.ended <- u.server.Upload(s)
	}()
	return s
}

func TestAnUploadThatBringsNothingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads(t)
		for _, before := range []int{0, 1, 3} {
			s, began := u.begin(t), time.Now()
			for n := range before {
				time.Sleep(50 * time.Second) // which is shorter than the longest pause
				if n == 0 {
					s.parts <- header(&pluginv1.Media{})
				} else {
					s.parts <- chunk([]byte("some"))
				}
			}
			wantCode(t, <-u.ended, codes.DeadlineExceeded)
			if took, want := time.Since(began), time.Duration(before)*50*time.Second+time.Minute; took != want {
				t.Errorf("an upload of %d parts was ended after %s, want %s", before, took, want)
			}
		}
	})
}

func TestAnUploadThatDripsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads(t)
		s, began := u.begin(t), time.Now()
		s.parts <- header(&pluginv1.Media{})
		for {
			select {
			case s.parts <- chunk([]byte("x")):
				time.Sleep(50 * time.Second)
				continue
			case err := <-u.ended:
				wantCode(t, err, codes.DeadlineExceeded)
			}
			break
		}
		if took := time.Since(began); took > 31*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// A plugin that holds all of its uploads keeps others waiting, but not forever.
func TestUploadsOfAPluginAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUploads(t)
		var list []*slow
		for range 40 {
			list = append(list, u.begin(t))
		}
		synctest.Wait()
		read := 0
		for _, s := range list {
			select {
			case s.parts <- header(&pluginv1.Media{}):
				read++
			default:
			}
		}
		if read != 16 {
			t.Errorf("%d uploads are read at a time, want 16", read)
		}
		found := map[string]int{}
		for range list {
			err := <-u.ended
			found[fmt.Sprint(status.Code(err))]++
		}
		if found["DeadlineExceeded"] < 16 || found["DeadlineExceeded"]+found["Unavailable"] != 40 {
			t.Errorf("they ended by %v", found)
		}
		// There is space again.
		s := u.begin(t)
		s.parts <- header(&pluginv1.Media{FileName: "a.txt"})
		s.parts <- chunk([]byte(strings.Repeat("x", 100)))
		close(s.parts)
		if err := <-u.ended; err != nil || s.sent.GetMedia().GetSize() != 100 {
			t.Errorf("an upload after that: %v, %v", s.sent, err)
		}
	})
}
