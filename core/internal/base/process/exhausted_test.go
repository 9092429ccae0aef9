package process_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

func TestExhausted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err             error
		exhausted, disk bool
	}{
		{nil, false, false},
		{errors.New("no space left on device"), false, false},
		{syscall.ENOENT, false, false},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true, true},
		{fmt.Errorf("write: %w", syscall.EDQUOT), true, true},
		{&os.SyscallError{Syscall: "fork/exec", Err: syscall.EAGAIN}, true, false},
		{errors.Join(errors.New("close"), syscall.EMFILE), true, false},
		{syscall.ENFILE, true, false},
		{syscall.ENOMEM, true, false},
	} {
		if got := process.Exhausted(tc.err); got != tc.exhausted {
			t.Errorf("Exhausted(%v) = %t", tc.err, got)
		}
		if got := process.DiskFull(tc.err); got != tc.disk {
			t.Errorf("DiskFull(%v) = %t", tc.err, got)
		}
	}
}
