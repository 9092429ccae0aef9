package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// fewFiles is the number of open files below which a host with several turns runs out of them.
const fewFiles = 1024

// findMachine examines the user and what the machine has.
func findMachine(o Options) (list []Finding) {
	if os.Geteuid() == 0 {
		list = append(list, warning("root", "the host would run as root, and so would all that Claude is allowed to run",
			"Give the host a user of its own: docs/operations.md."))
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < fewFiles {
		list = append(list, warning("open_files", fmt.Sprintf("a process may have only %d open files", limit.Max),
			fmt.Sprintf("Allow %d or more: `ulimit -n`, or LimitNOFILE in the service.", fewFiles)))
	}
	for _, a := range o.Config.AllAgents() {
		if _, err := exec.LookPath("git"); err != nil && a.Worktree == config.WorktreeThread {
			list = append(list, fault("git", fmt.Sprintf("agent %s works in git worktrees, and git is not installed", a.Label),
				"Install git, or remove worktree from the agent."))
		}
	}
	return list
}

// findFiles examines who may read and write the config and the variables.
func findFiles(o Options) (list []Finding) {
	closed := func(code, path string, mode fs.FileMode, text, advice string) {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&^mode == 0 {
			return
		}
		list = append(list, fixable(warning(code, fmt.Sprintf(text, path), fmt.Sprintf(advice, path)), func() error {
			return os.Chmod(path, info.Mode().Perm()&mode)
		}))
	}
	closed("config_writable", o.Config.Path, 0o755, "others may change %s, and so what the host runs", "`chmod go-w %s`")
	closed("variables_readable", filepath.Join(filepath.Dir(o.Config.Path), config.VariablesFile), 0o600,
		"others may read the secrets in %s", "`chmod 600 %s`")
	return list
}

// owner returns the name of the user who owns a file; empty: unknown.
func owner(info fs.FileInfo) (uid int, name string) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, ""
	}
	uid = int(stat.Uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return uid, u.Username
	}
	return uid, fmt.Sprint(uid)
}

// enumerate joins words.
func enumerate(words []string) string { return strings.Join(words, ", ") }
