package hostapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

func header(m *pluginv1.Media) *pluginv1.UploadRequest {
	return &pluginv1.UploadRequest{Part: &pluginv1.UploadRequest_Header{Header: m}}
}

func chunk(data []byte) *pluginv1.UploadRequest {
	return &pluginv1.UploadRequest{Part: &pluginv1.UploadRequest_Chunk{Chunk: data}}
}

// upload sends the parts; the server's error is seen at the end.
func upload(ctx context.Context, t *testing.T, conn *grpc.ClientConn, parts ...*pluginv1.UploadRequest) (*pluginv1.Media, error) {
	t.Helper()
	stream, err := pluginv1.NewMediaStoreClient(conn).Upload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if err := stream.Send(part); err != nil {
			break
		}
	}
	response, err := stream.CloseAndRecv()
	return response.GetMedia(), err
}

func download(t *testing.T, conn *grpc.ClientConn, ref string) (*pluginv1.Media, []byte, error) {
	t.Helper()
	stream, err := pluginv1.NewMediaStoreClient(conn).Download(t.Context(), &pluginv1.DownloadRequest{Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return first.GetHeader(), data, nil
		}
		if err != nil {
			return nil, nil, err
		}
		data = append(data, part.GetChunk()...)
	}
}

// files lists what is in the media folder, and fails for what others could read.
func (b *bundle) files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(b.media, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path == b.media && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if !entry.IsDir() {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMedia(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own, other := b.connect(t, "echo"), b.connect(t, "granted")
	data := bytes.Repeat([]byte("0123456789"), maxMedia/10)
	about := &pluginv1.Media{Kind: pluginv1.MediaKind_MEDIA_KIND_IMAGE, MimeType: "image/png", FileName: "../../etc/passwd", Ref: "../mine", Size: 7}
	stored, err := upload(t.Context(), t, own, header(about), chunk(data[:100_000]), chunk(nil), chunk(data[100_000:]))
	if err != nil {
		t.Fatal(err)
	}
	if stored.GetSize() != maxMedia || stored.GetRef() == "" || stored.GetRef() == about.GetRef() || stored.GetFileName() != "passwd" {
		t.Errorf("stored %v", stored)
	}
	if names := b.files(t); len(names) != 1 || filepath.Dir(names[0]) != filepath.Join(b.media, "echo") {
		t.Errorf("files %q, want one in the instance's folder", names)
	}
	got, read, err := download(t, own, stored.GetRef())
	if err != nil || !bytes.Equal(read, data) || got.GetMimeType() != "text/plain" || got.GetKind() != pluginv1.MediaKind_MEDIA_KIND_FILE {
		t.Errorf("read %d bytes of %v, %v; it is no image, whatever its sender says", len(read), got, err)
	}
	_, _, err = download(t, other, stored.GetRef())
	wantCode(t, err, codes.NotFound)

	// A file that was removed is not there either.
	if err := os.Remove(b.files(t)[0]); err != nil {
		t.Fatal(err)
	}
	_, _, err = download(t, own, stored.GetRef())
	wantCode(t, err, codes.NotFound)
}

func TestAnEmptyFile(t *testing.T) {
	t.Parallel()
	conn := setup(t).connect(t, "echo")
	stored, err := upload(t.Context(), t, conn, header(&pluginv1.Media{}))
	if err != nil {
		t.Fatal(err)
	}
	if got, data, err := download(t, conn, stored.GetRef()); err != nil || len(data) != 0 || got.GetSize() != 0 {
		t.Errorf("%v, %d bytes, %v", got, len(data), err)
	}
}

func TestNoRefLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "echo")
	stored, err := upload(t.Context(), t, b.connect(t, "granted"), header(&pluginv1.Media{}), chunk([]byte("not echo's")))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"", ".", "..", "/etc/passwd", "../../../../etc/passwd", "../granted/" + stored.GetRef(), stored.GetRef() + "\x00", "%2e%2e"} {
		_, _, err := download(t, conn, ref)
		wantCode(t, err, codes.NotFound)
	}
}

// Behaviour: file-accept, file-inbound.
func TestUploadRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "echo")
	half := make([]byte, maxMedia/2)
	for name, test := range map[string]struct {
		parts []*pluginv1.UploadRequest
		code  codes.Code
	}{
		"no header":                 {[]*pluginv1.UploadRequest{chunk([]byte("x"))}, codes.InvalidArgument},
		"a negative size":           {[]*pluginv1.UploadRequest{header(&pluginv1.Media{Size: -1})}, codes.InvalidArgument},
		"a byte more than the most": {[]*pluginv1.UploadRequest{header(&pluginv1.Media{}), chunk(half), chunk(half), chunk([]byte("x"))}, codes.FailedPrecondition},
	} {
		_, err := upload(t.Context(), t, conn, test.parts...)
		if err == nil {
			t.Errorf("%s: uploaded", name)
			continue
		}
		wantCode(t, err, test.code)
		if s := status.Convert(err); test.code == codes.FailedPrecondition && !strings.HasPrefix(s.Message(), "is larger than ") {
			t.Errorf("%s: it %s", name, s.Message())
		}
	}
	if names := b.files(t); len(names) != 0 {
		t.Errorf("files %q are left", names)
	}
}

func TestAnUploadThatIsCutOffLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := pluginv1.NewMediaStoreClient(b.connect(t, "echo")).Upload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []*pluginv1.UploadRequest{header(&pluginv1.Media{}), chunk([]byte("the first half"))} {
		if err := stream.Send(part); err != nil {
			t.Fatal(err)
		}
	}
	b.until(t, func(files []string) bool { return len(files) == 1 })
	cancel()
	b.until(t, func(files []string) bool { return len(files) == 0 })
}

// until waits for files in the media folder.
func (b *bundle) until(t *testing.T, well func(files []string) bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond) // a file gives no event
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !well(b.files(t)) {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("the files are still %q", b.files(t))
		}
	}
}
