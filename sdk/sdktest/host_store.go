package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// The limits of the protocol.
const (
	maxKey   = 256
	maxValue = 1 << 20
	maxKeys  = 1000
)

// stateServer keeps values in memory.
type stateServer struct {
	pluginv1.UnimplementedStateServer

	mu     sync.Mutex
	values map[string]value
}

type value struct {
	data     []byte
	revision uint64
}

func (s *stateServer) GetValue(_ context.Context, r *pluginv1.GetValueRequest) (*pluginv1.GetValueResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[r.GetKey()]
	return &pluginv1.GetValueResponse{Found: ok, Value: v.data, Revision: v.revision}, nil
}

func (s *stateServer) PutValue(_ context.Context, r *pluginv1.PutValueRequest) (*pluginv1.PutValueResponse, error) {
	if r.GetKey() == "" || len(r.GetKey()) > maxKey || len(r.GetValue()) > maxValue {
		return nil, status.Errorf(codes.InvalidArgument, "a key of %d bytes, a value of %d", len(r.GetKey()), len(r.GetValue()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.values[r.GetKey()]
	if r.IfRevision != nil && r.GetIfRevision() != old.revision {
		return &pluginv1.PutValueResponse{Revision: old.revision}, nil
	}
	s.values[r.GetKey()] = value{data: r.GetValue(), revision: old.revision + 1}
	return &pluginv1.PutValueResponse{Written: true, Revision: old.revision + 1}, nil
}

func (s *stateServer) DeleteValue(_ context.Context, r *pluginv1.DeleteValueRequest) (*pluginv1.DeleteValueResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, r.GetKey())
	return &pluginv1.DeleteValueResponse{}, nil
}

func (s *stateServer) ListKeys(_ context.Context, r *pluginv1.ListKeysRequest) (*pluginv1.ListKeysResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.values {
		if strings.HasPrefix(key, r.GetPrefix()) && key > r.GetAfter() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	limit := int(r.GetLimit())
	if limit == 0 || limit > maxKeys {
		limit = maxKeys
	}
	return &pluginv1.ListKeysResponse{Keys: keys[:min(limit, len(keys))]}, nil
}

// maxFile is the size limit of the harness's host, in bytes.
const maxFile = 4 << 20

// mediaServer keeps files in memory.
type mediaServer struct {
	pluginv1.UnimplementedMediaStoreServer

	mu    sync.Mutex
	files map[string]file
}

type file struct {
	header *pluginv1.Media
	data   []byte
}

func (s *mediaServer) Upload(stream grpc.ClientStreamingServer[pluginv1.UploadRequest, pluginv1.UploadResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	header := first.GetHeader()
	if header == nil {
		return status.Error(codes.InvalidArgument, "an upload must start with a header")
	}
	var data []byte
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if data = append(data, r.GetChunk()...); len(data) > maxFile {
			return status.Errorf(codes.FailedPrecondition, "is larger than %d MB", maxFile>>20)
		}
	}
	return stream.SendAndClose(&pluginv1.UploadResponse{Media: s.add(header, data)})
}

// add stores a file and returns its header with reference and size.
func (s *mediaServer) add(header *pluginv1.Media, data []byte) *pluginv1.Media {
	s.mu.Lock()
	defer s.mu.Unlock()
	header.Ref, header.Size = fmt.Sprintf("media-%d", len(s.files)+1), int64(len(data))
	s.files[header.GetRef()] = file{header: header, data: data}
	return header
}

func (s *mediaServer) Download(r *pluginv1.DownloadRequest, stream grpc.ServerStreamingServer[pluginv1.DownloadResponse]) error {
	s.mu.Lock()
	f, ok := s.files[r.GetRef()]
	s.mu.Unlock()
	if !ok {
		return status.Error(codes.NotFound, "no such file")
	}
	if err := stream.Send(&pluginv1.DownloadResponse{Part: &pluginv1.DownloadResponse_Header{Header: f.header}}); err != nil {
		return err
	}
	for chunk := range slices.Chunk(f.data, 64<<10) {
		if err := stream.Send(&pluginv1.DownloadResponse{Part: &pluginv1.DownloadResponse_Chunk{Chunk: chunk}}); err != nil {
			return err
		}
	}
	return nil
}

// AddFile adds a file to the host's media store and returns it as the Media of an outgoing message.
func (h *Host) AddFile(m chat.Media, content []byte) chat.Media {
	stored := h.media.add(wire.MediaToProto(m), content)
	m.Ref, m.Size = chat.MediaRef(stored.GetRef()), stored.GetSize()
	return m
}

// File returns the content of a file in the host's media store, or false if it does not exist.
func (h *Host) File(ref chat.MediaRef) ([]byte, bool) {
	h.media.mu.Lock()
	defer h.media.mu.Unlock()
	f, ok := h.media.files[string(ref)]
	return f.data, ok
}
