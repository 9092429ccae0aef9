package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
)

// operator is who changes the config by the control socket, for the log.
const operator = "the clawhost command"

func (s *Server) configRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/plugins/upgrade", answer(s.upgrade))
	mux.HandleFunc("GET /v1/config", answer(func(*http.Request) (any, error) { return list(s.options.Reloader.Written(), nil) }))
	mux.HandleFunc("GET /v1/config/changes", answer(func(r *http.Request) (any, error) {
		return reloaded(s.options.Reloader.Compare(r.Context()))
	}))
	mux.HandleFunc("POST /v1/config/reload", answer(func(r *http.Request) (any, error) {
		return reloaded(s.options.Reloader.Reload(r.Context(), operator))
	}))
	mux.HandleFunc("POST /v1/config/set", answer(func(r *http.Request) (any, error) {
		return reloaded(s.options.Reloader.Set(r.Context(), config.Override{Name: r.FormValue("name"), Value: r.FormValue("value"), By: operator}))
	}))
	mux.HandleFunc("POST /v1/config/unset", answer(func(r *http.Request) (any, error) {
		name := r.FormValue("name")
		done, err := s.options.Reloader.Unset(r.Context(), name, operator)
		if errors.Is(err, domain.ErrNotFound) {
			return nil, missing(name + " was not set while the host ran; `clawhost config show` says where each value comes from")
		}
		return reloaded(done, err)
	}))
}

func (s *Server) upgrade(r *http.Request) (any, error) {
	if err := s.options.Reloader.Upgrade(r.Context(), r.FormValue("name")); err != nil {
		return nil, gateway.Refusal{Text: err.Error()}
	}
	return struct{}{}, nil
}

// reloaded is the response to a change of the config. Why nothing has changed is for the person who asked.
func reloaded(done config.Reloaded, err error) (any, error) {
	if err != nil {
		return nil, gateway.Refusal{Text: err.Error()}
	}
	done.Changes = present(done.Changes)
	return done, nil
}

// UpgradePlugin restarts a plugin with its new binary, if that can run.
func (c *Client) UpgradePlugin(ctx context.Context, name string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/plugins/upgrade", url.Values{"name": {name}})
	return err
}

// Config returns what the config of the running host sets.
func (c *Client) Config(ctx context.Context) ([]config.Written, error) {
	return call[[]config.Written](ctx, c, http.MethodGet, "/v1/config", nil)
}

// ConfigChanges returns what a reload would change.
func (c *Client) ConfigChanges(ctx context.Context) (config.Reloaded, error) {
	return call[config.Reloaded](ctx, c, http.MethodGet, "/v1/config/changes", nil)
}

// Reload has the host read its config again.
func (c *Client) Reload(ctx context.Context) (config.Reloaded, error) {
	return call[config.Reloaded](ctx, c, http.MethodPost, "/v1/config/reload", nil)
}

// SetConfig sets a value of the config.
func (c *Client) SetConfig(ctx context.Context, name, value string) (config.Reloaded, error) {
	return call[config.Reloaded](ctx, c, http.MethodPost, "/v1/config/set", url.Values{"name": {name}, "value": {value}})
}

// UnsetConfig ends what SetConfig did.
func (c *Client) UnsetConfig(ctx context.Context, name string) (config.Reloaded, error) {
	return call[config.Reloaded](ctx, c, http.MethodPost, "/v1/config/unset", url.Values{"name": {name}})
}
