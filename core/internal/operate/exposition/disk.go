package exposition

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// disk is the space that a user has left on the disk of a folder, and its size, in bytes; false: the system does not tell.
func disk(folder string) (free, size float64, ok bool) {
	var d unix.Statfs_t
	for {
		err := unix.Statfs(folder, &d)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || d.Blocks == 0 {
			return 0, 0, false
		}
		return float64(d.Bavail) * float64(d.Bsize), float64(d.Blocks) * float64(d.Bsize), true
	}
}

// sizeOf is the size of a database, with that of its log.
func sizeOf(path string) (bytes float64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			bytes += float64(info.Size())
		}
	}
	return bytes
}
