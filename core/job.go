package core

import (
	"context"
	"sync"
	"time"
)

// start runs a job until stop is called, which waits for it.
func start(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// end runs a step of the shutdown. The log names a slow one while it runs.
func (h *Host) end(what string, stop func()) {
	slow := time.AfterFunc(2*time.Second, func() { h.log.Info("shutting down: waiting for " + what) })
	defer slow.Stop()
	stop()
}
