package supervisor

import (
	"context"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// What the host takes from one plugin at a time, so that none uses up the host's memory. What is beyond waits in the plugin
// or in a stream's window.
const (
	// maxCall is the largest message, in bytes. The largest that the sdk sends are an event and a value of a plugin's state,
	// each of about 1 MiB.
	maxCall = 2 << 20
	// maxReading is how many messages are read at a time, and maxHeld how many bytes of those read are worked on.
	maxReading = 8
	maxHeld    = 8 << 20
	// maxStreams is how many calls there are on a connection, waiting ones included, and maxWindow what waits unread for
	// each, in bytes.
	maxStreams = 256
	maxWindow  = 64 << 10
	maxHeaders = 16 << 10
)

// intakeOptions are for the server of one plugin's calls to the host. They go behind those of the handshake.
func intakeOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxCall), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders),
		grpc.StaticStreamWindowSize(maxWindow), grpc.StaticConnWindowSize(maxStreams * maxWindow),
		grpc.StatsHandler(&intake{reading: semaphore.NewWeighted(maxReading), held: semaphore.NewWeighted(maxHeld)}),
	}
}

// intake has the calls of a plugin wait until there is room for them. It is a stats.Handler because that alone is asked
// before a message is read. Uploads, which bring many messages a call, are bounded where they are served.
type intake struct{ reading, held *semaphore.Weighted }

// call is what one call has of the room.
type call struct {
	reading, long bool // long: it may take hours, and holds nothing meanwhile
	held          int64
}

type callKey struct{}

// TagRPC gives a call its account.
func (in *intake) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

// HandleRPC waits for a place among the calls that are read, and then until there is room to work on what was read. A call
// whose context ends goes on and fails by that.
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
		in.wasRead(c) // where nothing was
		in.held.Release(c.held)
	}
}

// wasRead gives up a call's place among those that are read.
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
