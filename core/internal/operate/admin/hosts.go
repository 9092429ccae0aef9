package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// Member is a host of those that share the database.
type Member struct {
	Name       string    `json:"name"`
	Here       bool      `json:"here"`  // it answers this request
	State      string    `json:"state"` // up, draining, silent, gone
	Version    string    `json:"version"`
	Labels     []string  `json:"labels"`
	Started    time.Time `json:"started"`
	LeaseUntil time.Time `json:"lease_until"`
	Gone       time.Time `json:"gone,omitzero"` // when others took over its work
	Runs       int64     `json:"runs"`          // turns and commands that it has in hand
	Duties     []string  `json:"duties"`        // what only it does now, such as a channel
}

// drain makes a host take no more turns and channels, or undoes that.
func (s *Server) drain(r *http.Request) (any, error) {
	name, drain := r.FormValue("name"), r.FormValue("undo") != "true"
	if s.options.Host.Fleet.Alone() {
		return nil, errors.New("this host is alone with its database: no other one could take over its work")
	}
	err := s.options.Store.Drain(r.Context(), name, drain)
	if errors.Is(err, domain.ErrNotFound) {
		return nil, fmt.Errorf("no host %q is up; `clawhost host list` shows the hosts", name)
	}
	return struct{}{}, err
}

// members returns the hosts with their duties, by name.
func (s *Server) members(ctx context.Context) ([]Member, error) {
	hosts, err := s.options.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	duties, err := s.options.Store.Duties(ctx)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, d := range duties {
		of[d.Host] = append(of[d.Host], d.Name)
	}
	members := make([]Member, 0, len(hosts))
	for _, h := range hosts {
		m := Member{
			Name: h.Name, Here: h.Name == s.options.Host.Fleet.Name(), State: "up", Version: h.Version, Labels: h.Labels,
			Started: h.StartedAt, LeaseUntil: h.LeaseUntil, Gone: h.GoneAt, Runs: h.Runs, Duties: of[h.Name],
		}
		switch {
		case !h.GoneAt.IsZero():
			m.State = "gone"
		case h.Silent:
			m.State = "silent"
		case h.Draining:
			m.State = "draining"
		}
		members = append(members, m)
	}
	return members, nil
}

// Hosts lists the hosts that share the database; none: the host is alone.
func (c *Client) Hosts(ctx context.Context) ([]Member, error) {
	return call[[]Member](ctx, c, http.MethodGet, "/v1/hosts", nil)
}

// Drain makes a host take no more turns and channels, or undoes that.
func (c *Client) Drain(ctx context.Context, name string, undo bool) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/hosts/drain", url.Values{"name": {name}, "undo": {fmt.Sprint(undo)}})
	return err
}
