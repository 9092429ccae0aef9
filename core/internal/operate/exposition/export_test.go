package exposition

import (
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
)

// State collects the state of the host.
func State(options Options) prometheus.Collector { return newState(options, hclog.NewNullLogger()) }
