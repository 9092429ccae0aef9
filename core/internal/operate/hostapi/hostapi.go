// Package hostapi serves the host's API to plugins. The connection identifies the calling instance; all requests are
// checked and limited before they are passed on.
package hostapi

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxKey is the maximum length of idempotency keys, in bytes.
const maxKey = 200

// Inbox accepts events: inbox.Inbox, or that of the measurements.
type Inbox interface {
	Submit(ctx context.Context, channel string, e chat.Event) (inbox.Outcome, error)
	Typing(ctx context.Context, channel string, t chat.Typing) error
	Session(ctx context.Context, agent string, to chat.Address, c chat.Chat) (string, error)
}

// Options are what the services work with.
type Options struct {
	Inbox   Inbox
	Gateway *gateway.Gateway
	Store   *store.Store
	Plugins *plugins.Registry
	Files   *files.Store
	Tracer  *trace.Tracer // nil: nothing is traced
	// Closing is closed when nothing more is to be taken in; nil: never.
	Closing <-chan struct{}
}

// complainEvery is the minimum interval of log lines about calls that failed because the disk is full.
const complainEvery = time.Minute

// API serves plugins.
type API struct {
	options    Options
	log        hclog.Logger
	complained atomic.Int64 // when a call last failed because the disk is full, in Unix seconds
}

// New returns the services.
func New(options Options, log hclog.Logger) *API {
	return &API{options: options, log: log}
}

// Register registers the services for one instance on the server that only that instance can reach.
func (a *API) Register(instance string, server *grpc.Server) {
	c := a.caller(instance)
	pluginv1.RegisterInboxServer(server, inboxServer{caller: c})
	pluginv1.RegisterOutboxServer(server, outboxServer{caller: c})
	pluginv1.RegisterTurnsServer(server, turnsServer{caller: c})
	pluginv1.RegisterSessionsServer(server, sessionsServer{caller: c})
	pluginv1.RegisterWakeUpsServer(server, wakeUpsServer{caller: c})
	pluginv1.RegisterStateServer(server, stateServer{caller: c})
	pluginv1.RegisterMediaStoreServer(server, mediaServer{caller: c})
}

// RegisterIntake registers only what a channel needs to receive: the inbox, and its state.
func (a *API) RegisterIntake(instance string, server *grpc.Server) {
	c := a.caller(instance)
	pluginv1.RegisterInboxServer(server, inboxServer{caller: c})
	pluginv1.RegisterStateServer(server, stateServer{caller: c})
}

// caller is the instance of a connection.
type caller struct {
	*API
	instance string
	program  gateway.Caller
	uploads  chan struct{} // an entry for each open one
	pages    chan struct{} // an entry for each that is looked up
	typing   *rate.Limiter // of hints that a person is typing
}

func (a *API) caller(instance string) caller {
	return caller{
		API: a, instance: instance, program: gateway.Plugin(instance, a.options.Plugins.Grants(instance)),
		uploads: make(chan struct{}, maxUploads), pages: make(chan struct{}, maxPages), typing: rate.NewLimiter(maxTyping, maxTyping),
	}
}

// errClosing is the error while the host is shutting down. The network sends the event again to the next process of the
// plugin.
var errClosing = status.Error(codes.Unavailable, "the host is shutting down")

// open returns an error while the host is shutting down.
func (c caller) open() error {
	select {
	case <-c.options.Closing:
		return errClosing
	default:
		return nil
	}
}

// address returns an address, by default on the instance's own channel.
func (c caller) address(a *pluginv1.Address) (chat.Address, error) {
	address, err := wire.AddressFromProto(a)
	if err != nil {
		return chat.Address{}, status.Errorf(codes.InvalidArgument, "address: %v", err)
	}
	if address.Channel == "" {
		address.Channel = c.instance
	}
	return address, nil
}

// checkIdempotencyKey returns an error for a key of no request.
func checkIdempotencyKey(key string) error {
	if key == "" || len(key) > maxKey {
		return status.Errorf(codes.InvalidArgument, "idempotency_key: %d bytes, 1 to %d are allowed", len(key), maxKey)
	}
	return nil
}

// refuse converts an error to a gRPC error. Errors that the plugin cannot fix are logged, and not shown to the plugin.
func (c caller) refuse(doing string, err error) error {
	var refused gateway.Refusal
	switch {
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.Is(err, domain.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, "cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "too late")
	case errors.Is(err, files.ErrNoSpace):
		return status.Error(codes.Unavailable, err.Error()+"; try again later")
	case process.DiskFull(err):
		if now := time.Now().Unix(); now-c.complained.Swap(now) >= int64(complainEvery/time.Second) {
			c.log.Error("the disk is full; plugins are told to try again later", "plugin", c.instance, "doing", doing, "error", err)
		}
		return status.Error(codes.Unavailable, "the host's disk is full; try again later")
	default:
		c.log.Error(doing, "plugin", c.instance, "error", err)
		return status.Error(codes.Unavailable, fmt.Sprintf("%s failed; the host's log says why", doing))
	}
}

// refusal converts a refusal to a gRPC error.
func refusal(r gateway.Refusal) error {
	switch r.Reason {
	case gateway.Denied:
		return status.Error(codes.PermissionDenied, r.Text)
	case gateway.Full:
		return status.Error(codes.ResourceExhausted, r.Text)
	case gateway.Closing:
		return errClosing
	case gateway.Early:
		return status.Error(codes.Unavailable, r.Text)
	default:
		return status.Error(codes.InvalidArgument, r.Text)
	}
}
