package core

import "time"

// slowStep is how long a step of going down may take before the log says what the host waits for.
const slowStep = 2 * time.Second

// end takes a step of going down. The log tells of one that takes long while it does.
func (h *Host) end(what string, stop func()) {
	slow := time.AfterFunc(slowStep, func() { h.log.Info("going down: waiting for " + what) })
	defer slow.Stop()
	stop()
}
