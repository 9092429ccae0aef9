package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/journal"
)

const (
	// nobody is a user without other processes.
	nobody = 64902
	// canary is a secret of the host's and of a plugin's environment.
	canary = "canary-51c9b1f2"
	// starts is the variable that says how often the host is started, killed and restarted.
	starts = "CLAWHOST_SECRET_STARTS"
)

// readSecrets is a program that looks at each new process of its user as early as it can, and again later through what it
// opened then. It prints "ready", each secret that it reads, and each memory of clawhost's that it opens.
func readSecrets() {
	opened := map[int][]*os.File{}
	look := func() int {
		text, err := os.ReadFile("/proc/sys/kernel/ns_last_pid")
		if err != nil {
			fmt.Println("cannot see new processes:", err)
			os.Exit(1)
		}
		last, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return last
	}
	known := map[int]bool{}
	found := func(pid int, f *os.File) {
		if known[pid] {
			return
		}
		text := make([]byte, 1<<16)
		n, _ := f.ReadAt(text, 0)
		if bytes.Contains(text[:n], []byte(canary)) {
			known[pid] = true
			program, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			fmt.Printf("read the environment of %d: %q\n", pid, program)
		}
	}
	fmt.Println("ready")
	next := look() + 1
	for {
		last := look()
		for pid := next; pid <= last+2; pid++ {
			if pid == os.Getpid() {
				continue
			}
			before := programOf(pid)
			if f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
				found(pid, f)
				opened[pid] = append(opened[pid], f)
			}
			if f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid)); err == nil {
				// A child of the host has the host's name until it executes another program, perhaps between these lines.
				if program := programOf(pid); program == before && strings.HasPrefix(filepath.Base(program), "clawhost") {
					fmt.Printf("opened the memory of %d: %q\n", pid, program)
				}
				_ = f.Close()
			}
		}
		next = max(next, last-30) // a process is looked at until 30 others were started
		for pid, files := range opened {
			for _, f := range files {
				found(pid, f)
			}
			if pid < next {
				for _, f := range files {
					_ = f.Close()
				}
				delete(opened, pid)
			}
		}
	}
}

// programOf is the name by which a process was executed; empty: it has ended.
func programOf(pid int) string {
	arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	program, _, _ := bytes.Cut(arguments, []byte{0})
	return string(program)
}

// No process of the same user reads the environment or the memory of the host or of a plugin, from their first
// instruction on: not while the host starts, a plugin is killed and started again, or an owner restarts the host.
func TestOtherUsersCannotReadSecrets(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start processes of another user")
	}
	times := 3
	if text := os.Getenv(starts); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir, address := secretBinaries(t)
	read := secretReader(t, dir)
	for n := range times {
		h := startSecretHost(t, dir)
		plugin := h.plugin(t, 0)
		mark := h.out.Mark()
		if err := syscall.Kill(plugin, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.plugin(t, mark)
		mark = h.out.Mark()
		anna := &client{chat: "anna", address: address}
		if err := errors.Join(anna.connect(), anna.say(strconv.Itoa(n), "/restart")); err != nil {
			t.Fatalf("start %d: %v\n%s", n, err, h.out)
		}
		h.await(t, mark, `: ready`)
		anna.leave()
		h.end(t)
	}
	if got := read(); got != "" {
		t.Errorf("in %d starts another process of the user\n%s", times, got)
	}
	t.Run("a readable program is warned of", func(t *testing.T) {
		if err := os.Chmod(filepath.Join(dir, "clawhost"), 0o755); err != nil {
			t.Fatal(err)
		}
		h := startSecretHost(t, dir)
		h.end(t)
		if !strings.Contains(h.out.String(), "other processes of this user could read this one's environment while it started") {
			t.Errorf("the host does not warn:\n%s", h.out)
		}
	})
	t.Run("a readable program starts where nothing is executed from memory", func(t *testing.T) {
		if _, err := os.Stat("/proc/sys/vm/memfd_noexec"); err != nil {
			t.Skip("this kernel executes all files in memory:", err)
		}
		prepare := []string{"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", `echo 2 > /proc/sys/vm/memfd_noexec && exec "$@"`, "sh"}
		if out, err := exec.CommandContext(t.Context(), prepare[0], append(prepare[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("this machine allows no process namespaces: %v: %s", err, out)
		}
		h := startSecretHost(t, dir, prepare...)
		h.end(t)
	})
}

// slackOf is the timer slack of a process in nanoseconds.
func slackOf(t *testing.T, pid int) string {
	t.Helper()
	slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", pid))
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(slack))
}

// The Go runtime's monitor thread wakes up less often. What an operator has chosen stays.
func TestTimersAreRelaxed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start processes of another user")
	}
	dir, _ := secretBinaries(t)
	h := startSecretHost(t, dir)
	if plugin := slackOf(t, h.plugin(t, 0)); plugin != "500000" {
		t.Errorf("the timer slack of the plugin is %s ns, want 500000", plugin)
	}
	h.end(t)
	runtime.LockOSThread() // which then ends with the test
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 70_000, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	h = startSecretHost(t, dir)
	if plugin := slackOf(t, h.plugin(t, 0)); plugin != "70000" {
		t.Errorf("the timer slack of the plugin is %s ns, want the 70000 that the host was started with", plugin)
	}
	h.end(t)
}

// secretBinaries are the programs of clawhost with a config, where each user finds them, the host's execute-only.
// Address is the echo plugin's.
func secretBinaries(t *testing.T) (dir, address string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "clawhost-secret-") // the test's own folders are closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := buildInto(dir, []string{"core/cmd/clawhost", "core/cmd/claude-stub", "examples/echo"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "clawhost"), 0o711); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	config := `state_dir = "state"
agent {
  workspace = "workspace"
}
claude {
  command = "` + dir + `/claude-stub"
}
access {
  owners = ["echo:anna"]
}
plugin "echo" {
  env = { SECRET = env("SECRET") }
  config {
    listen = "` + address + `"
  }
}
`
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, address
}

// asNobody prepares a process of the other user.
func asNobody(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// secretReader starts the reader. What is returned ends it and returns what it has read.
func secretReader(t *testing.T, dir string) func() string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "secret-reader")
	if out, err := exec.CommandContext(t.Context(), "cp", self, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := asNobody(t.Context(), dir, copied)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if first, err := lines.ReadString('\n'); err != nil || first != "ready\n" {
		t.Fatalf("the reader says %q, %v", first, err)
	}
	var got bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&got, lines)
	}()
	return func() string {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
		return got.String()
	}
}

// secretHost is a host of the other user.
type secretHost struct {
	cmd   *exec.Cmd
	out   *journal.Journal
	ended chan struct{}
}

// startSecretHost starts a host; root can have another program prepare the system for it and then execute it.
func startSecretHost(t *testing.T, dir string, prepare ...string) *secretHost {
	t.Helper()
	h := &secretHost{out: &journal.Journal{}, ended: make(chan struct{})}
	args := []string{filepath.Join(dir, "clawhost"), "-config", "config.hcl"}
	if len(prepare) == 0 {
		h.cmd = asNobody(context.Background(), dir, args[0], args[1:]...)
	} else {
		user := strconv.Itoa(nobody)
		args = append([]string{"setpriv", "--reuid", user, "--regid", user, "--clear-groups"}, args...)
		args = append(slices.Clip(prepare), args...)
		h.cmd = exec.CommandContext(context.Background(), args[0], args[1:]...)
		h.cmd.WaitDelay = patience
		h.cmd.Dir, h.cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	}
	h.cmd.Env = append(h.cmd.Env, "SECRET="+canary)
	h.cmd.Stdout, h.cmd.Stderr = h.out, h.out
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.ended)
		_ = h.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		<-h.ended
	})
	h.await(t, 0, `: ready`)
	return h
}

// await waits until the host has logged something behind a mark.
func (h *secretHost) await(t *testing.T, mark int, pattern string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.out.Await(ctx, h.ended, mark, regexp.MustCompile(pattern)); err != nil {
		t.Fatalf("%v\n%s", err, h.out)
	}
}

// plugin waits until the plugin has come up behind a mark, and returns its pid.
func (h *secretHost) plugin(t *testing.T, mark int) int {
	t.Helper()
	const running = `the plugin is running: .*pid=([0-9]+)\n`
	h.await(t, mark, running)
	pid, err := strconv.Atoi(regexp.MustCompile(running).FindStringSubmatch(h.out.String()[mark:])[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (h *secretHost) end(t *testing.T) {
	t.Helper()
	pid := h.cmd.Process.Pid
	if filepath.Base(h.cmd.Path) != "clawhost" { // It is the child of what has prepared the system.
		child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
		if err != nil {
			t.Fatal(err)
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(child))); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	<-h.ended
}
