package outgoing

import (
	"os"

	"golang.org/x/sys/unix"
)

// mountOf returns the mount of an open file; false: unknown.
func mountOf(file *os.File) (id uint64, known bool) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) { id, known = mount(int(fd), "", unix.AT_EMPTY_PATH) })
	return id, known && err == nil
}

// mountAt returns the mount of a path.
func mountAt(path string) (id uint64, known bool) { return mount(unix.AT_FDCWD, path, 0) }

func mount(dir int, path string, flags int) (id uint64, known bool) {
	var found unix.Statx_t
	err := unix.Statx(dir, path, flags, unix.STATX_MNT_ID, &found)
	return found.Mnt_id, err == nil && found.Mask&unix.STATX_MNT_ID != 0
}
