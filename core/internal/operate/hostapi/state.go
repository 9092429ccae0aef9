package hostapi

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// Limits of plugin state.
const (
	maxStateKey   = 256
	maxStateValue = 1 << 20
	maxStateKeys  = 1000
)

type stateServer struct {
	pluginv1.UnimplementedStateServer
	caller
}

func checkKey(key string) error {
	if key == "" || len(key) > maxStateKey {
		return status.Errorf(codes.InvalidArgument, "key: %d bytes, 1 to %d are allowed", len(key), maxStateKey)
	}
	return nil
}

// GetValue returns a value.
func (s stateServer) GetValue(ctx context.Context, r *pluginv1.GetValueRequest) (*pluginv1.GetValueResponse, error) {
	if err := checkKey(r.GetKey()); err != nil {
		return nil, err
	}
	value, revision, err := s.options.Store.GetState(ctx, s.instance, r.GetKey())
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return &pluginv1.GetValueResponse{}, nil
	case err != nil:
		return nil, s.refuse("read state", err)
	}
	return &pluginv1.GetValueResponse{Found: true, Value: value, Revision: revision}, nil
}

// PutValue writes a value.
func (s stateServer) PutValue(ctx context.Context, r *pluginv1.PutValueRequest) (*pluginv1.PutValueResponse, error) {
	if err := checkKey(r.GetKey()); err != nil {
		return nil, err
	}
	if len(r.GetValue()) > maxStateValue {
		return nil, status.Errorf(codes.InvalidArgument, "value: %d bytes, at most %d are allowed", len(r.GetValue()), maxStateValue)
	}
	revision, err := s.options.Store.PutState(ctx, s.instance, r.GetKey(), r.GetValue(), r.IfRevision)
	switch {
	case errors.Is(err, domain.ErrConflict):
		return &pluginv1.PutValueResponse{Revision: revision}, nil
	case errors.Is(err, domain.ErrStateFull):
		return nil, status.Error(codes.ResourceExhausted, domain.ErrStateFull.Error())
	case err != nil:
		return nil, s.refuse("write state", err)
	}
	return &pluginv1.PutValueResponse{Written: true, Revision: revision}, nil
}

// DeleteValue deletes a value.
func (s stateServer) DeleteValue(ctx context.Context, r *pluginv1.DeleteValueRequest) (*pluginv1.DeleteValueResponse, error) {
	if err := checkKey(r.GetKey()); err != nil {
		return nil, err
	}
	if err := s.options.Store.DeleteState(ctx, s.instance, r.GetKey()); err != nil {
		return nil, s.refuse("delete state", err)
	}
	return &pluginv1.DeleteValueResponse{}, nil
}

// ListKeys lists keys in order.
func (s stateServer) ListKeys(ctx context.Context, r *pluginv1.ListKeysRequest) (*pluginv1.ListKeysResponse, error) {
	limit := maxStateKeys
	if r.GetLimit() > 0 {
		limit = int(min(r.GetLimit(), maxStateKeys))
	}
	keys, err := s.options.Store.ListState(ctx, s.instance, r.GetPrefix(), r.GetAfter(), limit)
	if err != nil {
		return nil, s.refuse("list state", err)
	}
	return &pluginv1.ListKeysResponse{Keys: keys}, nil
}
