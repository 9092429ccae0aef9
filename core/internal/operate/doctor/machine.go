package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/store"
)

// fewFiles is the number of open files below which a host with several turns runs out of them.
const fewFiles = 1024

// findMachine examines the user and what the machine has.
func findMachine(o Options) (list []Finding) {
	if os.Geteuid() == 0 {
		list = append(list, warning("root", "the host would run as root, and so would all that Claude is allowed to run",
			"Give the host a user of its own: \"Install\" in docs/operations.md."))
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Max < fewFiles {
		list = append(list, warning("open_files", fmt.Sprintf("a process may have only %d open files here", limit.Max),
			fmt.Sprintf("Allow %[1]d or more: `ulimit -n %[1]d`, or `LimitNOFILE=%[1]d` in the service.", fewFiles)))
	}
	for _, a := range o.Config.AllAgents() {
		if _, err := exec.LookPath("git"); err != nil && a.Worktree == config.WorktreeThread {
			return append(list, fault("git", fmt.Sprintf("agent %s works in git worktrees, and git is not installed", a.Label),
				"Install git, or remove worktree from the agent."))
		}
	}
	return list
}

// findFiles examines who may read and write the config and the variables.
func findFiles(o Options) (list []Finding) {
	closed := func(code, path string, most fs.FileMode, text string) {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^most != 0 {
			list = append(list, open(code, fmt.Sprintf(text, path), path, info.Mode().Perm()&most))
		}
	}
	closed("config_writable", o.Config.Path, 0o755, "other users may change %s, and so what the host runs")
	closed("variables_readable", variables(o.Path), 0o600, "other users may read the secrets in %s")
	return list
}

// findSpace examines the disk of a folder.
func findSpace(dir string) []Finding {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); errors.Is(err, unix.EINTR) {
		return findSpace(dir)
	} else if err != nil {
		return nil
	}
	return judge(dir, disk)
}

// Free space in bytes below which a warning is worth it, and free files below which the host will soon stop.
const (
	littleSpace = 1 << 30
	fewInodes   = 1000
)

// remote are the types of file systems of other machines, as Linux numbers them (statfs(2)), whose locks SQLite cannot rely on.
var remote = map[int64]string{0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x517b: "SMB", 0x01021997: "9P"}

// judge examines what the system says about the disk of a folder.
func judge(dir string, disk unix.Statfs_t) (list []Finding) {
	if name := remote[int64(uint32(disk.Type))]; name != "" {
		list = append(list, warning("state_remote", fmt.Sprintf("%s is on another machine, by %s", dir, name),
			"Set state_dir to a folder of a local disk: a database may be damaged over a network."))
	}
	if disk.Blocks == 0 && disk.Bavail == 0 {
		return list // no disk, such as /proc
	}
	free := int64(disk.Bavail * uint64(disk.Bsize))
	text := fmt.Sprintf("%s are free for %s", size(free), dir)
	advice := fmt.Sprintf("Free some space: `du -xh %s | sort -h | tail` shows what takes it there.", process.Quoted(filepath.Dir(dir)))
	switch {
	case free < store.LittleSpace:
		list = append(list, fault("disk", "only "+text, advice))
	case free < littleSpace:
		list = append(list, warning("disk", "only "+text, advice))
	default:
		list = append(list, good("disk", "%s", text))
	}
	if disk.Files > 0 && disk.Ffree < fewInodes {
		list = append(list, fault("inodes", fmt.Sprintf("the disk of %s can have only %d more files", dir, disk.Ffree),
			fmt.Sprintf("Remove files: `du -x --inodes %s | sort -n | tail` shows where most are.", process.Quoted(filepath.Dir(dir)))))
	}
	return list
}

// size writes a number of bytes.
func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MB", bytes>>20)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30))
}
