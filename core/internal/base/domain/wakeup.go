package domain

import "time"

// WakeUp is a timer of a plugin.
type WakeUp struct {
	Instance string
	Key      string
	At       time.Time // that the plugin has set
	Attempts int       // that have failed
	Revision int64     // changes each time it is set to another time
}
