package config

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Telemetry configures what the host tells monitoring systems of itself.
type Telemetry struct {
	Metrics bool    // count and time what happens, for Prometheus; default false
	Traces  string  // where traces of messages are sent, by OTLP over HTTP; empty (default): there are none
	Sample  float64 // the share of the messages that are traced, from 0 to 1; default 0.1
}

func (t *Telemetry) block() block {
	return block{path: "telemetry", attrs: []attr{
		{"metrics", boolean(&t.Metrics)},
		{"traces", collector(&t.Traces)},
		{"sample", share(&t.Sample)},
	}}
}

// collector stores the address of a collector of traces, or none.
func collector(to *string) setter {
	return func(v value) {
		s, ok := v.text()
		switch {
		case !ok:
		case s != "" && !webAddress(s):
			v.refuse(`must be an http or https address without a user, such as "http://127.0.0.1:4318/v1/traces", or ""`)
		default:
			*to = s
		}
	}
}

// share stores a number from 0 to 1.
func share(to *float64) setter {
	return func(v value) {
		n, err := convert.Convert(v.Value, cty.Number)
		if v.Type() == cty.Bool || err != nil {
			v.refuse("must be a number from 0 to 1")
			return
		}
		f, _ := n.AsBigFloat().Float64()
		if f < 0 || f > 1 {
			v.refuse("must be a number from 0 to 1")
			return
		}
		*to = f
	}
}
