package core

import "time"

// slowStep is how long a step of the shutdown may take before the log names it.
const slowStep = 2 * time.Second

// end runs a step of the shutdown. The log names a slow one while it runs.
func (h *Host) end(what string, stop func()) {
	slow := time.AfterFunc(slowStep, func() { h.log.Info("shutting down: waiting for " + what) })
	defer slow.Stop()
	stop()
}
