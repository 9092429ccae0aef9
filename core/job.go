package core

import (
	"context"
	"sync"
	"time"
)

// running is a running job.
type running struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// start runs a job until stop is called, which waits for it.
func start(ctx context.Context, run func(context.Context)) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{cancel: cancel}
	r.done.Go(func() { run(ctx) })
	return r
}

func (r *running) stop() {
	r.cancel()
	r.done.Wait()
}

// end runs a step of the shutdown. The log names a slow one while it runs.
func (h *Host) end(what string, stop func()) {
	slow := time.AfterFunc(2*time.Second, func() { h.log.Info("shutting down: waiting for " + what) })
	defer slow.Stop()
	stop()
}
