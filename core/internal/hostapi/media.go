package hostapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/store"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// chunkBytes is how much of a file goes into one message.
const chunkBytes = 64 << 10

type mediaServer struct {
	pluginv1.UnimplementedMediaStoreServer
	caller
}

// Upload stores a file and names it.
func (s mediaServer) Upload(in grpc.ClientStreamingServer[pluginv1.UploadRequest, pluginv1.UploadResponse]) error {
	first, err := in.Recv()
	if err != nil {
		return err
	}
	header := first.GetHeader()
	if header == nil {
		return status.Error(codes.InvalidArgument, "the first part must be the header")
	}
	header.Ref = ""
	media, err := wire.MediaFromProto(header)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "header: %v", err)
	}
	media.Ref = chat.MediaRef(strings.ToLower(rand.Text()))
	if media.Size, err = s.receive(in, media.Ref); err != nil {
		return err
	}
	if err := s.options.Store.PutMedia(in.Context(), s.instance, media, time.Now()); err != nil {
		_ = os.Remove(s.path(media.Ref))
		return s.refuse("note a file", err)
	}
	return in.SendAndClose(&pluginv1.UploadResponse{Media: wire.MediaToProto(media)})
}

// receive writes the chunks to a file of the ref's name; an error leaves none behind.
func (s mediaServer) receive(in grpc.ClientStreamingServer[pluginv1.UploadRequest, pluginv1.UploadResponse], ref chat.MediaRef) (size int64, err error) {
	if err := os.MkdirAll(filepath.Dir(s.path(ref)), 0o700); err != nil {
		return 0, s.refuse("make the media folder", err)
	}
	f, err := os.OpenFile(s.path(ref), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, s.refuse("store a file", err)
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	for {
		part, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if size += int64(len(part.GetChunk())); size > s.options.MaxMedia {
			return 0, status.Errorf(codes.InvalidArgument, "the file is larger than %d bytes", s.options.MaxMedia)
		}
		if _, err := f.Write(part.GetChunk()); err != nil {
			return 0, s.refuse("store a file", err)
		}
	}
	if err := f.Sync(); err != nil {
		return 0, s.refuse("store a file", err)
	}
	return size, nil
}

// Download streams a file of the instance's own.
func (s mediaServer) Download(r *pluginv1.DownloadRequest, out grpc.ServerStreamingServer[pluginv1.DownloadResponse]) error {
	// Only a ref that the store knows becomes part of a path.
	media, err := s.options.Store.Media(out.Context(), s.instance, chat.MediaRef(r.GetRef()))
	if err != nil {
		return s.refuse("find a file", err)
	}
	f, err := os.Open(s.path(media.Ref))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return s.refuse("open a file", store.ErrNotFound) // somebody removed it
	case err != nil:
		return s.refuse("open a file", err)
	}
	defer f.Close()
	if err := out.Send(&pluginv1.DownloadResponse{Part: &pluginv1.DownloadResponse_Header{Header: wire.MediaToProto(media)}}); err != nil {
		return err
	}
	buffer := make([]byte, chunkBytes)
	for {
		n, err := f.Read(buffer)
		if n > 0 {
			if err := out.Send(&pluginv1.DownloadResponse{Part: &pluginv1.DownloadResponse_Chunk{Chunk: buffer[:n]}}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.refuse("read a file", fmt.Errorf("media %s: %w", media.Ref, err))
		}
	}
}

func (s mediaServer) path(ref chat.MediaRef) string {
	return filepath.Join(s.options.MediaDir, s.instance, string(ref))
}
