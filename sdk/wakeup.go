package sdk

import (
	"context"
	"time"
)

// WakeUps are the plugin's timers. The host keeps them on disk, so that none is lost when a process or the machine ends. The plugin
// must have a [Waker].
type WakeUps interface {
	// WakeAt has the host call [Waker.WakeUp] at a time, rounded up to a millisecond, or at once if that has passed. A further call with
	// the same key changes the time; a wake-up whose time is changed to one that has passed is due a second later. A key has 1 to 200
	// bytes. WakeAt fails for times before 1970 and beyond 10,000 wake-ups; its error is [errors.ErrUnsupported] if the host is too old.
	WakeAt(ctx context.Context, key string, at time.Time) error
	// Cancel returns nil for a wake-up that does not exist. A call of WakeUp that has begun, or is just beginning, goes on.
	Cancel(ctx context.Context, key string) error
}

// WakeUp is a time for which the plugin has set a timer.
type WakeUp struct {
	Key string
	// At is the time that was set, rounded up to a millisecond. It is long past if the host or the plugin was down.
	At time.Time
}

// Waker is a service that is called at the times of its [WakeUps].
//
// The host calls WakeUp once the time has come and the plugin runs, at least once. Nil says that what the wake-up is for is done, or
// on disk: the host deletes the wake-up, unless it was set to another time meanwhile, which WakeUp itself may do. After an error, or
// when ctx has ended (after a minute), WakeUp is called again after a wait that doubles from one second to five minutes; other
// wake-ups do not wait for that. Calls are made one after the other, in the order of their times.
//
// To have something happen exactly once, give it a key made of the wake-up's key and time: [Turns] and [Outbox] do nothing twice under
// one key.
type Waker interface {
	WakeUp(ctx context.Context, w WakeUp) error
}
