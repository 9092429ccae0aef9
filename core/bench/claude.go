package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// way is how the CLI is run, apart from how the host runs it.
type way struct {
	name string
	args []string
	env  map[string]string
}

// ways are the settings of the CLI, of its JavaScript engine and of its allocator that might save memory.
var ways = []way{
	{name: "as the host runs it"},
	{name: "heap for 256 MB (forceRAMSize)", env: map[string]string{"BUN_JSC_forceRAMSize": "268435456"}},
	{name: "heap for 64 MB", env: map[string]string{"BUN_JSC_forceRAMSize": "67108864"}},
	{name: "--smol", env: map[string]string{"BUN_OPTIONS": "--smol"}},
	{name: "no last tier of the JIT", env: map[string]string{"BUN_JSC_useFTLJIT": "0"}},
	{name: "no JIT", env: map[string]string{"BUN_JSC_useJIT": "0"}},
	{name: "idle collection and purges", env: map[string]string{
		"BUN_IDLE_GC_SECONDS": "2", "MIMALLOC_PURGE_DELAY": "0", "MIMALLOC_PURGE_HOLES": "1", "MIMALLOC_PURGE_HOLES_MIN_INTERVAL": "1000",
	}},
	{name: "--bare", args: []string{"--bare"}},
	{name: "four tools", args: []string{"--tools", "Bash,Read,Edit,Write"}},
	{name: "no file checkpoints", env: map[string]string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "0"}},
}

// footing is a process of the CLI that is run in some way, and what it takes.
type footing struct {
	way
	*claudeRig
	session                  string
	pid                      int
	start                    time.Duration // until it answers the first request
	fresh, one, many, rested memory        // after the start, a turn, many turns, and a rest
	idle                     time.Duration // processor time of half a minute without a turn
	turn, processor          time.Duration // of one of many turns
}

const (
	manyTurns = 50
	aRest     = 30 * time.Second
)

// claude measures processes of the real CLI in several ways, against a Messages API on this machine. All of them run side by side, as they
// do below a host, so that they share the pages of their binary, but only one at a time starts or has a turn.
func (b *bench) claude(ctx context.Context) (err error) {
	const settle, young = 3 * time.Second, 15 * time.Second // it still works for some seconds after its start
	if b.cli == "" {
		line("not measured", "there is no claude CLI here")
		return nil
	}
	all := make([]*footing, len(ways))
	for i, w := range ways {
		f := &footing{way: w, session: uuid.NewString()}
		if f.claudeRig, err = newClaudeRig(b.cli, w.apply); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.remove()) }()
		all[i] = f
	}
	each := func(measure func(*footing) error) func() error {
		return func() error {
			for _, f := range all {
				if err := measure(f); err != nil {
					return fmt.Errorf("%s: %w", f.name, err)
				}
			}
			return nil
		}
	}
	wait := func(d time.Duration) func() error { return func() error { return pause(ctx, d) } }
	for _, step := range []func() error{
		each(func(f *footing) error { return f.begin(ctx) }), wait(settle),
		each(func(f *footing) error { return f.weigh(&f.fresh) }), wait(young),
		each(func(f *footing) error { return f.spend(&f.idle) }), wait(aRest), each(func(f *footing) error { return f.spend(&f.idle) }),
		each(func(f *footing) error { return f.talk(ctx, 1) }), wait(settle), each(func(f *footing) error { return f.weigh(&f.one) }),
		each(func(f *footing) error { return f.talk(ctx, manyTurns) }), wait(aRest), each(func(f *footing) error { return f.weigh(&f.rested) }),
	} {
		if err := step(); err != nil {
			return err
		}
	}
	report(all)
	return nil
}

// apply changes how the host runs the CLI.
func (w way) apply(o *cli.Options) {
	o.Args = w.args
	maps.Copy(o.Env, w.env)
}

// report prints a table.
func report(all []*footing) {
	const row = "  %-31s %6s %16s %9s %14s %14s %14s %9s %9s\n"
	fmt.Println("  times in ms, memory in MB: resident, and in brackets what no other process has")
	fmt.Printf(row, "", "start", "idle (PSS)", "CPU 30 s", "1 turn", fmt.Sprint(manyTurns, " turns"), "after a rest", "turn", "its CPU")
	for _, f := range all {
		fmt.Printf(row, f.name, whole(f.start), fmt.Sprintf("%s %d", f.fresh, f.fresh.pss>>10), whole(f.idle), f.one, f.many, f.rested,
			whole(f.turn), whole(f.processor))
	}
}

// begin starts the process, several times to take the time, and leaves the last one.
func (f *footing) begin(ctx context.Context) error {
	const repeats = 3
	var took []time.Duration
	for i := range repeats {
		if i > 0 {
			if err := f.close(); err != nil {
				return err
			}
		}
		if err := f.open(); err != nil {
			return err
		}
		pid, d, err := f.claudeRig.start(ctx, f.session, false)
		if err != nil {
			return err
		}
		f.pid, took = pid, append(took, d)
	}
	f.start = median(took)
	return nil
}

func (f *footing) weigh(to *memory) (err error) {
	*to, err = memoryOf(f.pid)
	return err
}

// spend sets the processor time that the process has used since the call before.
func (f *footing) spend(to *time.Duration) error {
	now, err := cpu(f.pid)
	*to = now - *to
	return err
}

// talk has turns answered, and measures what one takes.
func (f *footing) talk(ctx context.Context, turns int) error {
	before, err := cpu(f.pid)
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range turns {
		d, err := f.say(ctx, f.session, turns > 1, fmt.Sprintf("message %d, with some more words in it", i))
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	after, err := cpu(f.pid)
	f.turn, f.processor = median(took), (after-before)/time.Duration(turns)
	return errors.Join(err, f.weigh(&f.many))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whole is a duration in whole milliseconds.
func whole(d time.Duration) string { return fmt.Sprint(d.Round(time.Millisecond).Milliseconds()) }

// String is the resident memory and, in brackets, that which no other process has, in MB.
func (m memory) String() string { return fmt.Sprintf("%d (%d)", m.rss>>10, m.own>>10) }
