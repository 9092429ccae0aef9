package hostapi

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

const (
	// maxUploads limits a plugin's concurrent uploads, and uploadWait how long another one waits.
	maxUploads = 16
	uploadWait = time.Minute
	// uploadPause limits how long an upload may send nothing, and uploadTime its total time.
	uploadPause = time.Minute
	uploadTime  = 30 * time.Minute
)

// admit waits until another upload may start.
func (s mediaServer) admit(ctx context.Context) error {
	select {
	case s.uploads <- struct{}{}:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-time.After(uploadWait):
		return status.Errorf(codes.Unavailable, "%d files are being uploaded; try again later", maxUploads)
	}
}

// uploaded reads the parts of an upload. One that sends nothing for long is aborted.
type uploaded struct {
	parts <-chan received
	done  chan struct{} // closed when reading stops
	pause *time.Timer
	whole *time.Timer
	rest  []byte
}

// received is a part of an upload, or its end.
type received struct {
	part *pluginv1.UploadRequest
	err  error
}

// receive starts reading an upload. A call's stream has no deadline of its own, so a goroutine reads its parts. It ends
// with the upload or, if it is waiting for a part, with the call, which gRPC ends once its handler has returned.
func receive(in grpc.ClientStreamingServer[pluginv1.UploadRequest, pluginv1.UploadResponse]) *uploaded {
	parts := make(chan received)
	u := &uploaded{parts: parts, done: make(chan struct{}), pause: time.NewTimer(uploadPause), whole: time.NewTimer(uploadTime)}
	go func() {
		for {
			part, err := in.Recv()
			select {
			case parts <- received{part, err}:
			case <-u.done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return u
}

func (u *uploaded) stop() {
	close(u.done)
	u.pause.Stop()
	u.whole.Stop()
}

// next returns the next part.
func (u *uploaded) next() (*pluginv1.UploadRequest, error) {
	u.pause.Reset(uploadPause)
	select {
	case r := <-u.parts:
		return r.part, r.err
	case <-u.pause.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "the upload brought nothing for %s", uploadPause)
	case <-u.whole.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "the upload took longer than %s", uploadTime)
	}
}

// brokenUpload is the error of an incomplete upload.
type brokenUpload struct{ err error }

func (b *brokenUpload) Error() string { return "receive a file: " + b.err.Error() }

func (u *uploaded) Read(p []byte) (int, error) {
	for len(u.rest) == 0 {
		part, err := u.next()
		switch {
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil:
			return 0, &brokenUpload{err}
		}
		u.rest = part.GetChunk()
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
