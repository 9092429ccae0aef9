package credential

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// Proxies are the proxies of several agents: one for each set of keys. The zero Proxies has none.
type Proxies struct{ list []shared }

// shared is a proxy for all who have the same options.
type shared struct {
	*Proxy
	options Options
}

// Listen returns the proxy for the options, and starts it if there is none yet; nil, if there are no keys.
func (p *Proxies) Listen(options Options, log hclog.Logger) (*Proxy, error) {
	if len(options.Keys) == 0 {
		return nil, nil
	}
	for _, s := range p.list {
		if slices.Equal(s.options.Keys, options.Keys) && s.options.Upstream == options.Upstream {
			return s.Proxy, nil
		}
	}
	proxy, err := Listen(options, log)
	if err != nil {
		return nil, fmt.Errorf("keep claude's keys: %w", err)
	}
	p.list = append(p.list, shared{proxy, options})
	return proxy, nil
}

// Close closes all proxies.
func (p *Proxies) Close() error {
	var errs []error
	for _, s := range p.list {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
