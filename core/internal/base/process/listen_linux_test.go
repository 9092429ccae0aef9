package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// An address in use is said to be so, with the process that has it.
func TestListenAtAnAddressInUse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ taken, wanted string }{
		{"127.0.0.1:0", "127.0.0.1:%d"},
		{"127.0.0.1:0", "localhost:%d"},
		{"127.0.0.1:0", "0.0.0.0:%d"},
		{"127.0.0.1:0", ":%d"},
		{":0", "127.0.0.1:%d"},
		{":0", ":%d"},
		{"[::1]:0", "[::1]:%d"},
	} {
		held, err := new(net.ListenConfig).Listen(t.Context(), "tcp", tt.taken)
		if err != nil {
			t.Logf("this machine cannot listen at %s: %v", tt.taken, err)
			continue
		}
		defer held.Close()
		address := fmt.Sprintf(tt.wanted, held.Addr().(*net.TCPAddr).Port)
		_, err = process.Listen(t.Context(), "tcp", address)
		if used, ok := errors.AsType[*process.InUse](err); !ok || used.PID != os.Getpid() || !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s beside %s: %v", address, held.Addr(), err)
		}
	}
}

// It runs alone: a process that another test starts has the files of this one for a moment.
func TestListenAtAnAddressOfAnotherProcess(t *testing.T) {
	held, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := held.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.CommandContext(t.Context(), "cat")
	holder.ExtraFiles = []*os.File{file}
	input, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close(); _ = holder.Wait() }()
	_ = file.Close()
	_ = held.Close()
	_, err = process.Listen(context.Background(), "tcp", held.Addr().String())
	if want := fmt.Sprintf("address already in use, by cat (process %d)", holder.Process.Pid); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Other errors leave out the address, which the caller adds.
func TestListenErrors(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"192.0.2.1:80", "nonsense", "127.0.0.1:http-but-not"} {
		l, err := process.Listen(t.Context(), "tcp", address)
		if err == nil || l != nil || strings.Contains(err.Error(), "listen tcp") {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
}
