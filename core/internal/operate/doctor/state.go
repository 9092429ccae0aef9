package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/store"
)

// Free space in bytes below which the host will soon stop, and below which that is worth a warning.
const (
	noSpace     = 64 << 20
	littleSpace = 1 << 30
)

// findState examines the state folder, its disk and the database.
func findState(ctx context.Context, o Options) (list []Finding) {
	dir := o.Config.StateDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(list, findSpace(existing(dir))...) // the host makes it
	case err != nil:
		return nil // the check of the config says it
	}
	if uid, name := owner(info); uid >= 0 && uid != os.Geteuid() {
		list = append(list, fault("user", fmt.Sprintf("%s belongs to %s, so the host runs as that user", dir, name),
			fmt.Sprintf("Run this as that user: `sudo -u %s clawhost doctor`.", name)))
	}
	if info.Mode().Perm()&0o077 != 0 {
		list = append(list, fixable(warning("state_open", fmt.Sprintf("other users may enter %s, which has all conversations", dir),
			fmt.Sprintf("`chmod 700 %s`; the host does it when it starts.", dir)), func() error { return os.Chmod(dir, 0o700) }))
	}
	list = append(list, findSpace(dir)...)
	if o.Host != nil {
		return list
	}
	path := filepath.Join(dir, store.File)
	if _, err := os.Stat(path); err != nil {
		return list
	}
	if err := store.Verify(ctx, path); err != nil {
		return append(list, fault("database", err.Error(), adviceFor(err)))
	}
	return append(list, good("database", "the database is whole"))
}

// adviceFor says what to do about a database.
func adviceFor(err error) string {
	switch {
	case errors.Is(err, store.ErrLocked):
		return "It does not answer at its control socket. Stop it, or give this one a state_dir of its own."
	case errors.Is(err, store.ErrNewer):
		return "Run that version, or restore the backup from before the upgrade."
	}
	return "Restore the newest backup: docs/operations.md."
}

// existing returns the first folder above a path that exists.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// remote are the types of file systems of other machines, as Linux numbers them (statfs(2)), on which SQLite's locks cannot be relied
// upon.
var remote = map[int64]string{0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x517b: "SMB", 0x01021997: "9P"}

// findSpace examines the disk of a folder.
func findSpace(dir string) (list []Finding) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return nil
	}
	if name := remote[int64(disk.Type)]; name != "" {
		list = append(list, warning("state_remote", fmt.Sprintf("%s is on another machine, by %s", dir, name),
			"Use a local disk: a database that is reached over a network may be damaged."))
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	text := fmt.Sprintf("%d MB are free for %s", free>>20, dir)
	const advice = "Free some space: `du -xh / | sort -h | tail` shows what takes it."
	switch {
	case free < noSpace:
		list = append(list, fault("disk", text, advice))
	case free < littleSpace:
		list = append(list, warning("disk", text, advice))
	default:
		list = append(list, good("disk", "%s", text))
	}
	if disk.Files > 0 && disk.Ffree < 1000 {
		list = append(list, fault("inodes", fmt.Sprintf("the disk of %s can have only %d more files", dir, disk.Ffree), "Remove files that are not needed."))
	}
	return list
}
