// Package relay carries calls of a plugin to the host that runs it, over the database that the hosts share.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

const (
	// unbounded is how long a call without a deadline may take.
	unbounded = 10 * time.Minute
	// dropTime bounds the removal of a call that is given up.
	dropTime = 5 * time.Second
)

// Store is what a relay needs of package store.
type Store interface {
	Call(ctx context.Context, c domain.PluginCall, expires time.Duration) (id int64, err error)
	WatchCall(id int64) (<-chan struct{}, func())
	Returned(ctx context.Context, id int64) (parts [][]byte, end *domain.CallEnd, err error)
	DropCall(ctx context.Context, id int64) error
	TakeCall(ctx context.Context, plugin string) (domain.PluginCall, error)
	Return(ctx context.Context, id, number int64, part []byte) (unread int, err error)
	Unread(ctx context.Context, id int64) (int, error)
	EndCall(ctx context.Context, id int64, end domain.CallEnd) error
}

// Conn is a connection to a plugin that another host runs. It implements [grpc.ClientConnInterface]. A call waits until the plugin runs, as
// long as its context allows.
type Conn struct {
	store  Store
	plugin string
}

// NewConn returns the connection to a plugin.
func NewConn(s Store, plugin string) *Conn { return &Conn{s, plugin} }

// Invoke implements [grpc.ClientConnInterface].
func (c *Conn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	s := &stream{ctx: ctx, conn: c, method: method}
	defer s.drop()
	if err := s.SendMsg(args); err != nil {
		return err
	}
	if err := s.RecvMsg(reply); err != nil {
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "the call has returned nothing")
		}
		return err
	}
	if err := s.RecvMsg(nil); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// NewStream implements [grpc.ClientConnInterface], for calls with one request.
func (c *Conn) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if d.ClientStreams {
		return nil, status.Error(codes.Unimplemented, "a call with several requests goes to the plugin's own host only")
	}
	s := &stream{ctx: ctx, conn: c, method: method}
	context.AfterFunc(ctx, s.drop) // who has enough ends the context
	return s, nil
}

// stream is one call. It implements [grpc.ClientStream], without header and trailer.
type stream struct {
	ctx    context.Context
	conn   *Conn
	method string

	id    int64
	parts [][]byte // that were returned and not received
	end   *domain.CallEnd

	mu   sync.Mutex
	open int64 // the id, until the call has ended or is given up
}

// Header implements [grpc.ClientStream].
func (*stream) Header() (metadata.MD, error) { return nil, nil }

// Trailer implements [grpc.ClientStream].
func (*stream) Trailer() metadata.MD { return nil }

// CloseSend implements [grpc.ClientStream].
func (*stream) CloseSend() error { return nil }

// Context implements [grpc.ClientStream].
func (s *stream) Context() context.Context { return s.ctx }

// SendMsg implements [grpc.ClientStream]: it begins the call.
func (s *stream) SendMsg(m any) error {
	message, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "a request is a %T", m)
	}
	request, err := proto.Marshal(message)
	if err != nil {
		return status.Errorf(codes.Internal, "encode the request: %v", err)
	}
	expires := unbounded
	if deadline, ok := s.ctx.Deadline(); ok {
		expires = time.Until(deadline)
	}
	s.id, err = s.conn.store.Call(s.ctx, domain.PluginCall{Plugin: s.conn.plugin, Method: s.method, Request: request}, expires)
	s.setOpen(s.id)
	return s.translate(err)
}

// RecvMsg implements [grpc.ClientStream].
func (s *stream) RecvMsg(m any) error {
	if err := s.await(); err != nil {
		return err
	}
	if len(s.parts) == 0 {
		if s.end.Code == uint32(codes.OK) {
			return io.EOF
		}
		return status.Error(codes.Code(s.end.Code), s.end.Message)
	}
	message, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "a response is a %T", m)
	}
	part := s.parts[0]
	s.parts = s.parts[1:]
	if err := proto.Unmarshal(part, message); err != nil {
		return status.Errorf(codes.Internal, "decode the response: %v", err)
	}
	return nil
}

// await waits until the call has returned something, or has ended.
func (s *stream) await() error {
	changed, stop := s.conn.store.WatchCall(s.id)
	defer stop()
	for len(s.parts) == 0 && s.end == nil {
		var err error
		if s.parts, s.end, err = s.conn.store.Returned(s.ctx, s.id); err != nil {
			return s.translate(err)
		}
		if s.end != nil {
			s.setOpen(0)
		}
		if len(s.parts) > 0 || s.end != nil {
			break
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return status.FromContextError(s.ctx.Err()).Err()
		}
	}
	return nil
}

// translate returns an error of the store as one of gRPC.
func (s *stream) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return status.FromContextError(s.ctx.Err()).Err()
	case errors.Is(err, domain.ErrNotFound):
		return status.Errorf(codes.Unavailable, "the host that ran the plugin %s is gone", s.conn.plugin)
	}
	return status.Error(codes.Unavailable, fmt.Sprintf("the database that leads to the plugin %s: %v", s.conn.plugin, err))
}

// setOpen sets which call is open, and returns which one was.
func (s *stream) setOpen(id int64) (before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.open = s.open, id
	return before
}

// drop gives up a call that has not ended. It may be called while another goroutine receives.
func (s *stream) drop() {
	id := s.setOpen(0)
	if id == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), dropTime)
	defer cancel()
	_ = s.conn.store.DropCall(ctx, id) // it expires
}
