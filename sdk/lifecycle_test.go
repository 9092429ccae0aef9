package sdk_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
	"github.com/clawhost/clawhost/sdk/wire"
)

// diary records the order of events.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}

// worker is a service with every capability.
type worker struct {
	name  string
	diary *diary
	run   func(context.Context) error
	stop  error
}

func (w *worker) Run(ctx context.Context) error {
	err := w.run(ctx)
	w.diary.write(w.name + " ran")
	return err
}

func (w *worker) Stop(context.Context) error {
	w.diary.write(w.name + " stopped")
	return w.stop
}

func (w *worker) RunCommand(_ context.Context, call sdk.CommandCall) (string, error) {
	if call.Args == "fail" {
		return "", errors.New("it failed")
	}
	return w.name + " " + call.Name + " " + call.Args + " " + call.Caller.Authority.String(), nil
}

func (w *worker) BeforeAgentStart(_ context.Context, start sdk.AgentStart) (sdk.AgentContext, error) {
	return sdk.AgentContext{Prepend: strings.Repeat(start.Prompt, 20_000)}, nil
}

func component(w *worker, commands ...sdk.CommandSpec) sdk.Component {
	return sdk.Service(func(context.Context, sdk.Env, struct{}) (*worker, error) {
		w.diary.write(w.name + " opened")
		return w, nil
	}, commands...)
}

func untilCancelled(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestServicesCommandsAndHooks(t *testing.T) {
	t.Parallel()
	d := &diary{}
	h := sdktest.New(t,
		component(&worker{name: "a", diary: d, run: untilCancelled}, sdk.CommandSpec{Name: "one", Usage: "/one", Summary: "One.", MinAuthority: chat.Owner}),
		sdk.Command(sdk.CommandSpec{Name: "two"}, func(context.Context, sdk.CommandCall) (string, error) { panic("oh") }),
	)
	description := h.Describe()
	if !cmp.Equal(description.Capabilities, []string{"CAPABILITY_COMMANDS", "CAPABILITY_HOOK_BEFORE_AGENT_START"}) {
		t.Errorf("capabilities are %v", description.Capabilities)
	}
	want := []sdk.CommandSpec{{Name: "one", Usage: "/one", Summary: "One.", MinAuthority: chat.Owner}, {Name: "two"}}
	if !cmp.Equal(description.Commands, want) {
		t.Errorf("commands are %v", description.Commands)
	}
	if _, err := h.Command(sdk.CommandCall{Name: "one"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure a command gives %v", err)
	}
	if _, err := h.BeforeAgentStart(sdk.AgentStart{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure the hook gives %v", err)
	}
	h.Configure(nil)
	if reply, err := h.Command(sdk.CommandCall{Name: "one", Args: "x"}); reply != "a one x owner" || err != nil {
		t.Errorf("/one answers %q, %v", reply, err)
	}
	if _, err := h.Command(sdk.CommandCall{Name: "one", Args: "fail"}); err == nil || !strings.Contains(err.Error(), "it failed") {
		t.Errorf("a command that fails gives %v", err)
	}
	if _, err := h.Command(sdk.CommandCall{Name: "two"}); !sdktest.Panicked(err) {
		t.Errorf("a command that panics gives %v", err)
	}
	if _, err := h.Command(sdk.CommandCall{Name: "three"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown command gives %v", err)
	}
	added, err := h.BeforeAgentStart(sdk.AgentStart{TurnID: "1", Prompt: "prompt "})
	if err != nil || len(added.Prepend) != 64<<10 || !strings.HasPrefix(added.Prepend, "prompt prompt ") {
		t.Errorf("the hook adds %d bytes, %v, want 64 KiB", len(added.Prepend), err)
	}
	if _, err := h.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "c"}}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a plugin without a channel answers SendMessage with %v", err)
	}
}

func TestShutdownDrains(t *testing.T) {
	t.Parallel()
	d := &diary{}
	sending, finish := make(chan struct{}), make(chan struct{})
	c := &plainChannel{
		run: func(ctx context.Context, in sdk.Inbox) error {
			in.Report(chat.Connected, "")
			<-ctx.Done()
			d.write("channel ran")
			return nil
		},
		send: func(ctx context.Context, _ chat.Outgoing) (chat.Receipt, error) {
			close(sending)
			<-finish
			d.write("sent")
			return chat.Receipt{}, ctx.Err()
		},
	}
	h := sdktest.New(t, channelOf(c),
		component(&worker{name: "a", diary: d, run: untilCancelled}),
		component2(&worker{name: "b", diary: d, run: untilCancelled, stop: errors.New("not well")}))
	h.Configure(nil)
	run := h.Run()
	run.NextState() // a Run after Shutdown is refused
	var sent sync.WaitGroup
	sent.Go(func() {
		if _, err := h.Send(chat.Outgoing{Key: "k", To: chat.Address{Chat: "c"}}); err != nil {
			t.Errorf("a message that was under way at shutdown gives %v", err)
		}
	})
	<-sending
	go func() {
		// After the start of Shutdown new calls are refused; those in progress are finished.
		for status.Code(h.Delete(chat.Address{Chat: "c"}, "m")) != codes.Unavailable {
		}
		close(finish)
	}()
	h.Shutdown()
	sent.Wait()
	run.Stop()
	lines := d.read()
	order := strings.Join(lines, ", ")
	if lines[0] != "a opened" || lines[1] != "b opened" || lines[2] != "sent" ||
		!strings.HasSuffix(order, "b stopped, a stopped") || len(lines) != 8 {
		t.Errorf("the order was %s", order)
	}
	if !strings.Contains(h.Logs(), "not well") {
		t.Errorf("the failed stop is not in the log: %s", h.Logs())
	}
}

// component2 is a worker without the hook, because a plugin has only one.
func component2(w *worker) sdk.Component {
	return sdk.Service(func(context.Context, sdk.Env, struct{}) (runnerStopper, error) {
		w.diary.write(w.name + " opened")
		return runnerStopper{w}, nil
	})
}

type runnerStopper struct{ w *worker }

func (r runnerStopper) Run(ctx context.Context) error  { return r.w.Run(ctx) }
func (r runnerStopper) Stop(ctx context.Context) error { return r.w.Stop(ctx) }

func TestFailedServiceIsReported(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("gave up") },
		"a panic":  func(context.Context) error { panic("gave up") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.New(t, component2(&worker{name: "a", diary: &diary{}, run: run}))
			h.Configure(nil)
			if err := <-h.Failed(); err == nil || !strings.Contains(err.Error(), "gave up") {
				t.Errorf("the failure is %v", err)
			}
		})
	}
}

func TestAFailedOpenStopsWhatWasOpened(t *testing.T) {
	t.Parallel()
	d := &diary{}
	attempts := 0
	h := sdktest.New(t,
		component(&worker{name: "a", diary: d, run: untilCancelled}),
		sdk.Service(func(context.Context, sdk.Env, struct{}) (struct{}, error) {
			if attempts++; attempts == 1 {
				return struct{}{}, sdk.ConfigError("x", errors.New("wrong"))
			}
			return struct{}{}, nil
		}),
	)
	if diagnostics, err := h.TryConfigure(nil); len(diagnostics) != 1 || err != nil {
		t.Fatal(diagnostics, err)
	}
	if got := d.read(); !cmp.Equal(got, []string{"a opened", "a stopped"}) {
		t.Errorf("the order was %v", got)
	}
	h.Configure(nil)
	if _, err := h.TryConfigure(nil); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a second Configure gives %v", err)
	}
}

func TestAPanicInOpen(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Service(func(context.Context, sdk.Env, struct{}) (struct{}, error) { panic("oh") }))
	if _, err := h.TryConfigure(nil); !sdktest.Panicked(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	c := &richChannel{}
	h := sdktest.New(t, channelOf(c))
	h.Configure(nil)
	if err := h.Health(); err != nil {
		t.Errorf("a well channel says %v", err)
	}
	c.status = "reading " + strings.Repeat("x", 5000)
	if got := h.Status(); !strings.HasPrefix(got, "reading xx") || len(got) > wire.MaxDetail {
		t.Errorf("it says %.100q", got)
	}
	c.health = errors.New("no connection for an hour")
	if err := h.Health(); err == nil || err.Error() != "no connection for an hour" {
		t.Errorf("an ill channel says %v", err)
	}
}
