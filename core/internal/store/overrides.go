package store

import "time"

// Overrides are what the people of a session have chosen for it, or by directives for one message. An empty field
// inherits. The values are checked by whoever sets them.
type Overrides struct {
	Model      string         `json:"model,omitempty"`      // an alias of the config, or a name that the CLI knows
	Effort     string         `json:"effort,omitempty"`     // low, medium, high, xhigh, max
	Permission string         `json:"permission,omitempty"` // a permission mode of the CLI
	Verbose    string         `json:"verbose,omitempty"`    // off, on, full
	Reasoning  string         `json:"reasoning,omitempty"`  // off, on, stream
	Usage      string         `json:"usage,omitempty"`      // off, tokens, full
	Queue      QueueOverrides `json:"queue,omitzero"`
	Send       string         `json:"send,omitempty"`       // allow, deny
	Activation string         `json:"activation,omitempty"` // mention, always
	TTS        string         `json:"tts,omitempty"`        // off, inbound, always, tagged
}

// QueueOverrides are those of [Queueing].
type QueueOverrides struct {
	Mode     Mode           `json:"mode,omitempty"`
	Debounce *time.Duration `json:"debounce,omitempty"`
	Cap      int            `json:"cap,omitempty"`
	Drop     Drop           `json:"drop,omitempty"`
}

// Over returns the overrides with what they leave empty taken from others.
func (o Overrides) Over(base Overrides) Overrides {
	fill(&o.Model, base.Model)
	fill(&o.Effort, base.Effort)
	fill(&o.Permission, base.Permission)
	fill(&o.Verbose, base.Verbose)
	fill(&o.Reasoning, base.Reasoning)
	fill(&o.Usage, base.Usage)
	fill(&o.Queue.Mode, base.Queue.Mode)
	fill(&o.Queue.Debounce, base.Queue.Debounce)
	fill(&o.Queue.Cap, base.Queue.Cap)
	fill(&o.Queue.Drop, base.Queue.Drop)
	fill(&o.Send, base.Send)
	fill(&o.Activation, base.Activation)
	fill(&o.TTS, base.TTS)
	return o
}

// fill sets an empty field.
func fill[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}
