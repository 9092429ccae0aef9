// Command bench measures a built clawhost: the real host, plugins and stub, as processes, with its own config. It
// prints each figure as a median of several runs. It needs Linux's /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// bench is one run of this program.
type bench struct {
	bin    string        // the folder of the binaries
	settle time.Duration // how long a measurement waits for a quiet machine
	only   *regexp.Regexp

	cli, version string // the real claude CLI of the parts felt and typing; empty: there is none
}

func main() {
	if path := os.Getenv(traceVariable); path != "" {
		os.Exit(runTraced(path))
	}
	if os.Getenv(mcpVariable) != "" {
		serveMCP()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	bin := flag.String("bin", "bin", "the `folder` with the built binaries")
	settle := flag.Duration("settle", 5*time.Second, "how long each measurement may wait until the machine is quiet")
	only := flag.String("only", "", "measure only what matches this `pattern`")
	cli := flag.String("claude", "", "the claude `CLI` of the parts felt and typing, or stub; by default that of $"+cliVariable+", PATH or core/e2e, or else the stub")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	b := &bench{settle: *settle, only: pattern}
	if b.bin, err = filepath.Abs(*bin); err != nil {
		return err
	}
	if b.cli, b.version, err = findCLI(ctx, *cli); err != nil {
		return err
	}
	about, err := machine()
	if err != nil {
		return err
	}
	fmt.Println(about)
	for _, m := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"felt", b.felt},
		{"typing", b.typing},
		{"overhead", b.overhead},
		{"telemetry", b.telemetry},
		{"stream", b.stream},
		{"channels", b.channels},
		{"stop", b.stop},
		{"throughput", b.throughput},
		{"newchats", b.newChats},
		{"start", b.startup},
		{"memory", b.footprint},
		{"accept", b.accept},
		{"kill", b.recovery},
		{"claude", b.claude},
		{"resume", b.resume},
	} {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if !b.only.MatchString(m.name) {
			continue
		}
		load, err := quiet(b.settle)
		if err != nil {
			return err
		}
		before, err := usageNow()
		if err != nil {
			return err
		}
		fmt.Printf("\n%s (%s)\n", m.name, load)
		if err := m.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		others, err := othersSince(before)
		if err != nil {
			return err
		}
		line("others used meanwhile", fmt.Sprintf("%d %% of the machine", others))
	}
	return nil
}

// with runs a host for f.
func (b *bench) with(ctx context.Context, s setup, f func(*host) error) error {
	r, err := newRig(b.bin, s)
	if err != nil {
		return err
	}
	defer r.remove()
	h, err := r.start(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(h), h.stop())
}
