package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// adopts is a process of its own, as it waits for whatever the tests' own process would have started. It starts processes that leave the tree while it starts and waits for its own.
func adopts() error {
	var children process.Children
	if err := children.Adopt(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { children.Reap(ctx) })
	defer func() { cancel(); running.Wait() }()

	orphan := exec.Command("sh", "-c", "env -i setsid sleep 100 >/dev/null & echo $!")
	out, err := orphan.StdoutPipe()
	if err != nil {
		return err
	}
	if err := children.Start(orphan); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	if err := children.Wait(orphan); err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if below, err := process.Below(pid, os.Getpid()); err != nil || !below {
		return fmt.Errorf("a process that left the tree is below its host: %v, %v, want true", below, err)
	}
	if below, err := process.Below(os.Getppid(), os.Getpid()); err != nil || below {
		return fmt.Errorf("the parent is below its child: %v, %v, want false", below, err)
	}
	if children.Own(pid) {
		return errors.New("an adopted process counts as started")
	}
	var starting sync.WaitGroup
	failed := make(chan error, 8)
	for range cap(failed) {
		starting.Go(func() {
			for n := range 20 {
				cmd := exec.Command("sh", "-c", "(exit 0 &) ; (exit 0 &) ; exit 3")
				err := children.Start(cmd)
				if err == nil {
					err = children.Wait(cmd)
				}
				if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 {
					failed <- fmt.Errorf("start %d of a process that ends with 3: %v", n, err)
					return
				}
			}
		})
	}
	starting.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for { // until it, and all else that was adopted, was waited for
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if errors.Is(err, unix.ECHILD) {
			break
		}
		<-tick.C
	}
	if _, err := process.Below(pid, os.Getpid()); err == nil {
		return errors.New("a process that is gone has ancestors")
	}
	return nil
}

// Nothing leaves the tree of a process that adopts, which does not reap the child of another wait.
func TestChildrenAreAdopted(t *testing.T) { apart(t, "adopts") }
