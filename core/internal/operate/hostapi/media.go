package hostapi

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// chunkBytes is the part of a file in one message.
const chunkBytes = 64 << 10

type mediaServer struct {
	pluginv1.UnimplementedMediaStoreServer
	caller
}

// Upload stores a file, determines its type from the content and returns its ref.
func (s mediaServer) Upload(in grpc.ClientStreamingServer[pluginv1.UploadRequest, pluginv1.UploadResponse]) error {
	if err := s.admit(in.Context()); err != nil {
		return err
	}
	defer func() { <-s.uploads }()
	content := receive(in)
	defer content.stop()
	first, err := content.next()
	if err != nil {
		return err
	}
	header := first.GetHeader()
	if header == nil {
		return status.Error(codes.InvalidArgument, "the first part must be the header")
	}
	header.Ref = ""
	claim, err := wire.MediaFromProto(header)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "header: %v", err)
	}
	stored, err := s.options.Files.Put(in.Context(), s.instance, claim, content)
	var broken *brokenUpload
	switch {
	case errors.As(err, &broken):
		return broken.err
	case errors.Is(err, files.ErrTooLarge):
		return status.Error(codes.FailedPrecondition, "is larger than "+s.options.Files.Most())
	case errors.Is(err, files.ErrNotAccepted):
		return status.Error(codes.FailedPrecondition, err.Error())
	case err != nil:
		return s.refuse("store a file", err)
	}
	return in.SendAndClose(&pluginv1.UploadResponse{Media: wire.MediaToProto(stored)})
}

// Download streams a file of the instance.
func (s mediaServer) Download(r *pluginv1.DownloadRequest, out grpc.ServerStreamingServer[pluginv1.DownloadResponse]) error {
	about, f, err := s.options.Files.Open(out.Context(), s.instance, chat.MediaRef(r.GetRef()))
	if err != nil {
		return s.refuse("find a file", err)
	}
	defer f.Close()
	if err := out.Send(&pluginv1.DownloadResponse{Part: &pluginv1.DownloadResponse_Header{Header: wire.MediaToProto(about)}}); err != nil {
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
			return s.refuse("read a file", fmt.Errorf("media %s: %w", about.Ref, err))
		}
	}
}

// uploads are the refs of files of the instance.
func uploads(list []*pluginv1.Media) (refs []chat.MediaRef, err error) {
	media, err := wire.AttachedFromProto(list)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	for _, m := range media {
		refs = append(refs, m.Ref)
	}
	return refs, nil
}
