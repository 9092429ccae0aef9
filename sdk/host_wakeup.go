package sdk

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/sdk/pluginv1"
)

type hostWakeUps struct{ client pluginv1.WakeUpsClient }

func (h hostWakeUps) WakeAt(ctx context.Context, key string, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	if _, err := h.client.WakeAt(ctx, &pluginv1.WakeAtRequest{Key: key, At: timestamppb.New(at)}); err != nil {
		return hostError(ctx, "set a wake-up", err)
	}
	return nil
}

func (h hostWakeUps) Cancel(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	if _, err := h.client.CancelWakeUp(ctx, &pluginv1.CancelWakeUpRequest{Key: key}); err != nil {
		return hostError(ctx, "cancel a wake-up", err)
	}
	return nil
}
