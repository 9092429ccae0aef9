package turn

import (
	"context"
	"sync"
	"time"
)

// typingCall bounds one typing signal: it is worth nothing later.
const typingCall = 5 * time.Second

// ShowTyping signals at once and then at each interval that an answer is being written, until stop is called, which takes
// the signal back. Signals are a courtesy: their failures are nobody's business.
func ShowTyping(ctx context.Context, every time.Duration, signal func(ctx context.Context, active bool) error) (stop func()) {
	showing, cancel := context.WithCancel(ctx)
	var loop sync.WaitGroup
	loop.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			bounded(showing, func(ctx context.Context) error { return signal(ctx, true) })
			select {
			case <-showing.Done():
				bounded(context.WithoutCancel(ctx), func(ctx context.Context) error { return signal(ctx, false) })
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		loop.Wait()
	}
}

func bounded(ctx context.Context, signal func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, typingCall)
	defer cancel()
	_ = signal(ctx)
}
