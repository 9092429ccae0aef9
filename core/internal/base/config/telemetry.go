package config

// Telemetry configures what the host tells monitoring systems of itself.
type Telemetry struct {
	Metrics bool // count and time what happens, for Prometheus; default false
}

func (t *Telemetry) block() block {
	return block{path: "telemetry", attrs: []attr{
		{"metrics", boolean(&t.Metrics)},
	}}
}
