package supervisor

import (
	"context"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// Limits on concurrent calls of one plugin, so that no plugin exhausts the host's memory. Calls beyond them wait in the
// plugin or in a stream's window.
const (
	// maxCall is the maximum size of a message, in bytes. The largest messages of the sdk are an event and a value of a
	// plugin's state, about 1 MiB each.
	maxCall = 2 << 20
	// maxReading limits the messages that are read concurrently, and maxHeld the bytes of messages being handled.
	maxReading = 8
	maxHeld    = 8 << 20
	// maxStreams limits the calls on a connection, including waiting ones, and maxWindow the unread bytes of each.
	maxStreams = 128
	maxWindow  = 64 << 10
	maxHeaders = 16 << 10
)

// intakeOptions are for the server of one plugin's calls to the host. They follow those of the handshake.
func intakeOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxCall), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders),
		grpc.StaticStreamWindowSize(maxWindow), grpc.StaticConnWindowSize(maxStreams * maxWindow),
		grpc.StatsHandler(&intake{reading: semaphore.NewWeighted(maxReading), held: semaphore.NewWeighted(maxHeld)}),
	}
}

// intake delays the calls of a plugin until there is capacity for them. It is a stats.Handler because only that is called
// before a message is read. Uploads, which have many messages per call, have limits where they are served.
type intake struct{ reading, held *semaphore.Weighted }

// call is one call's share of the capacity.
type call struct {
	reading, long bool // long: it may take hours, and holds no capacity meanwhile
	held          int64
}

type callKey struct{}

// TagRPC attaches a call's share.
func (in *intake) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

// HandleRPC waits for permission to read a message, and then for capacity to handle it. A call whose context ends continues
// and fails by that.
func (in *intake) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	switch s := s.(type) {
	case *stats.Begin:
		c.long = s.IsServerStream
		c.reading = !s.IsClientStream && in.reading.Acquire(ctx, 1) == nil
	case *stats.InPayload:
		if c.reading && !c.long && in.held.Acquire(ctx, int64(s.Length)) == nil {
			c.held = int64(s.Length)
		}
		in.wasRead(c)
	case *stats.End:
		in.wasRead(c) // if nothing was read
		in.held.Release(c.held)
	}
}

// wasRead releases a call's permission to read.
func (in *intake) wasRead(c *call) {
	if c.reading {
		in.reading.Release(1)
		c.reading = false
	}
}

// TagConn does nothing.
func (in *intake) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (in *intake) HandleConn(context.Context, stats.ConnStats) {}
