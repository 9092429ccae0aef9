package hostapi

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// latestWakeUp is the latest time of a wake-up.
var latestWakeUp = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

type wakeUpsServer struct {
	pluginv1.UnimplementedWakeUpsServer
	caller
}

// WakeAt sets a wake-up. A plugin that is being configured is not known yet, so only one that runs is checked.
func (s wakeUpsServer) WakeAt(ctx context.Context, r *pluginv1.WakeAtRequest) (*pluginv1.WakeAtResponse, error) {
	if err := checkWakeUp(r.GetKey()); err != nil {
		return nil, err
	}
	if p, running := s.options.Plugins.Get(s.instance); running && !p.Can(remote.WakeUp) {
		return nil, status.Error(codes.FailedPrecondition, "the plugin has wake-ups, but not the capability to be woken (CAPABILITY_WAKE_UP)")
	}
	at := r.GetAt().AsTime()
	if r.GetAt() == nil || at.Before(time.Unix(0, 0)) || !at.Before(latestWakeUp) {
		return nil, status.Errorf(codes.InvalidArgument, "at: must be after 1970 and before %d", latestWakeUp.Year())
	}
	err := s.options.Store.WakeAt(ctx, s.instance, r.GetKey(), at)
	switch {
	case errors.Is(err, domain.ErrStateFull):
		return nil, status.Error(codes.ResourceExhausted, domain.ErrStateFull.Error())
	case err != nil:
		return nil, s.refuse("set a wake-up", err)
	}
	return &pluginv1.WakeAtResponse{}, nil
}

// CancelWakeUp deletes a wake-up.
func (s wakeUpsServer) CancelWakeUp(ctx context.Context, r *pluginv1.CancelWakeUpRequest) (*pluginv1.CancelWakeUpResponse, error) {
	if err := checkWakeUp(r.GetKey()); err != nil {
		return nil, err
	}
	if err := s.options.Store.CancelWakeUp(ctx, s.instance, r.GetKey()); err != nil {
		return nil, s.refuse("cancel a wake-up", err)
	}
	return &pluginv1.CancelWakeUpResponse{}, nil
}

func checkWakeUp(key string) error {
	if key == "" || len(key) > wire.MaxWakeUp {
		return status.Errorf(codes.InvalidArgument, "key: %d bytes, 1 to %d are allowed", len(key), wire.MaxWakeUp)
	}
	return nil
}
