package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// sealedName is the kernel's prefix for the name of a file in memory.
	sealedName = "/memfd:"
	// maxSealedName is the maximum length of the name, in bytes.
	maxSealedName = 249
	// maxProgram is the maximum size of a program, in bytes.
	maxProgram = 1 << 30
	// firstSealed is the lowest descriptor of a copy. Starting a process rearranges low descriptors in the child before it
	// executes the copy by its descriptor.
	firstSealed = 512
)

// Seal copies the program at path into memory, where it cannot be changed or read from disk. An ordinary user's process
// that executes the copy cannot be read by other processes of that user from its first instruction on, because the user may
// execute the copy but not read it. If sum is not nil, the copied bytes are written to it.
//
// The error is [ErrNotSealed] if the file cannot be executed in this way, [ErrNotExecutable] if it must not be executed at
// all, and another one if it cannot be read or memory is exhausted.
func Seal(path string, sum io.Writer) (_ *Program, err error) {
	// The copy has its own permissions, so the kernel does not check those of the file.
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("%s: %w", path, ErrNotExecutable)
	}
	if len(path) > maxSealedName {
		return nil, fmt.Errorf("%w: its path is longer than %d bytes", ErrNotSealed, maxSealedName)
	}
	source, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	magic := make([]byte, 4)
	if _, err := source.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic) != "\x7fELF" {
		return nil, fmt.Errorf("%w: it is a script", ErrNotSealed)
	}
	sealed, err := memory(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = sealed.Close()
		}
	}()
	if err := copyProgram(sealed, source); err != nil {
		return nil, fmt.Errorf("copy %s into memory: %w", path, err)
	}
	if err := sealed.Chmod(0o111); err != nil {
		return nil, fmt.Errorf("make the copy of %s execute-only: %w", path, err)
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(sealed.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("seal the copy of %s: %w", path, err)
	}
	if sum != nil {
		if _, err := io.Copy(sum, io.NewSectionReader(sealed, 0, maxProgram)); err != nil {
			return nil, fmt.Errorf("read the copy of %s: %w", path, err)
		}
	}
	return &Program{Path: "/proc/self/fd/" + strconv.Itoa(int(sealed.Fd())), sealed: sealed}, nil
}

// copyProgram copies a program within the kernel, which takes half the time of reading and writing it.
func copyProgram(to, from *os.File) error {
	for left := maxProgram + 1; ; {
		n, err := unix.Sendfile(int(to.Fd()), int(from.Fd()), nil, left)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return os.NewSyscallError("sendfile", err)
		case n == 0:
			return nil
		}
		if left -= n; left == 0 {
			return fmt.Errorf("it is larger than %d bytes", maxProgram)
		}
	}
}

// memory creates an empty file in memory that can be sealed and executed.
func memory(name string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, flags) // before Linux 6.3 all such files are executable
	}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("%w: this system executes nothing from memory: %w", ErrNotSealed, err)
	case err != nil:
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	defer unix.Close(fd)
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstSealed)
	if errors.Is(err, unix.EINVAL) { // the descriptor limit is lower
		high, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("duplicate a file in memory: %w", err)
	}
	return os.NewFile(uintptr(high), name), nil
}

// Executable returns the path of this process's program, even if it runs from a sealed copy.
func Executable() (string, error) {
	path, err := os.Executable()
	return strings.TrimPrefix(path, sealedName), err
}

// Self returns a path with which a child executes exactly this process's program, even if its file was replaced or removed.
func Self() string { return "/proc/self/exe" }

// Sealed reports whether this process runs from a sealed copy.
func Sealed() bool {
	path, err := os.Executable()
	return err == nil && strings.HasPrefix(path, sealedName)
}

// Readable reports whether other processes of the same user can read this one's memory and environment.
func Readable() bool {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err != nil || dumpable == 1
}
