// Package postgrestest runs a private PostgreSQL for tests: the real server, on a free port, with a folder and a password of its own.
// It can be killed and paused, be reached through a network that fails (see [Proxy]), and through PgBouncer.
//
// Nobody else on the machine gets in: by its Unix socket without a password, which is in a folder of mode 0700, or by 127.0.0.1 with a
// random password. A server ends with the test that started it, and at the latest when the test binary ends, in whatever way.
//
// Tests are skipped where PostgreSQL is not installed, and fail there with CI=true.
package postgrestest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// errMissing is why a test is skipped, except in CI.
var errMissing = errors.New("not installed")

const (
	oldest  = 13 // version of PostgreSQL, because of what it can drop
	longest = 60 // bytes of the path of the folder for temporary files; that of a socket has at most 107
)

// settings are those of every server. A killed server loses nothing that it has committed even without fsync, because the system writes
// it; what it wrote half is repaired from full pages, which are on by default. Files take the place of shared memory that would stay
// when a server is killed.
const settings = `
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = 16MB
fsync = off
autovacuum = off
jit = off
huge_pages = off
dynamic_shared_memory_type = mmap
log_checkpoints = off
log_line_prefix = '%m [%p] %d '
unix_socket_permissions = 0700
`

// access is who may connect: by the socket whoever may enter its folder, and the role of the tests by TCP with its password.
const access = `
local all all trust
host all ` + role + ` 127.0.0.1/32 scram-sha-256
`

// watch is a script that waits for the end of its input, which is that of the test binary, ends all processes that work in a folder, and
// removes it. A paused process must go on to end. SIGQUIT ends a server at once, and it still removes its shared memory.
const watch = `
trap '' HUP INT TERM
read -r _
ours() { find /proc/[0-9]*/cwd -maxdepth 0 '(' -lname "$1" -o -lname "$1/*" ')' 2>/dev/null | cut -d / -f 3; }
for signal in QUIT QUIT QUIT QUIT QUIT QUIT QUIT QUIT QUIT QUIT KILL KILL KILL; do
	pids=$(ours "$1")
	[ -n "$pids" ] || break
	kill -CONT $pids
	kill -$signal $pids
	sleep 0.2
done 2>/dev/null
rm -rf "$1"
`

// installation is PostgreSQL on this machine, with what this test binary needs of it.
type installation struct {
	bin     string              // the folder of its programs
	version int                 // its major version
	dir     string              // what the servers have is below it
	initial string              // the files of a new server
	account *syscall.Credential // who runs the servers; nil: the user who runs the tests
	alive   io.Closer           // the input of the watching script, which ends with this process
}

// installed prepares the installation, once for all tests.
var installed = sync.OnceValues(func() (*installation, error) {
	bin, version, err := programs()
	if err != nil {
		return nil, err
	}
	i := &installation{bin: bin, version: version}
	if i.account, err = account(); err != nil {
		return nil, err
	}
	base := os.TempDir()
	if len(base) > longest {
		base = "/tmp"
	}
	if i.dir, err = os.MkdirTemp(base, "pg"); err != nil {
		return nil, err
	}
	if err := i.watch(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(i.dir))
	}
	if err := i.give(i.dir); err != nil {
		return nil, err
	}
	return i, i.init()
})

// programs finds the programs of the server on the PATH, and where Debian installs them.
func programs() (bin string, version int, err error) {
	if runtime.GOOS != "linux" {
		return "", 0, fmt.Errorf("the PostgreSQL of the tests needs Linux: %w", errMissing)
	}
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", 0, err
	}
	major := func(bin string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
		return n
	}
	slices.SortFunc(bins, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	if path, err := exec.LookPath("initdb"); err == nil {
		bins = slices.Insert(bins, 0, filepath.Dir(path))
	}
	for _, bin := range bins {
		if _, err := exec.LookPath(filepath.Join(bin, "initdb")); err != nil {
			continue
		}
		if version, err := versionOf(filepath.Join(bin, "postgres")); err == nil && version[0] >= oldest {
			return bin, version[0], nil
		}
	}
	return "", 0, fmt.Errorf("initdb and postgres, version %d or later: %w: install the Debian package postgresql", oldest, errMissing)
}

var number = lazyregexp.New(`(\d+)\.(\d+)`)

// versionOf returns the first two numbers of a program's version.
func versionOf(program string) (version [2]int, err error) {
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return version, err
	}
	found := number().FindSubmatch(out)
	if found == nil {
		return version, fmt.Errorf("%s has no version: %q", program, out)
	}
	for i := range version {
		if version[i], err = strconv.Atoi(string(found[i+1])); err != nil {
			return version, err
		}
	}
	return version, nil
}

// account returns who runs the servers, if the tests run as root, as which PostgreSQL and PgBouncer refuse to run.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// watch starts the script that ends the servers when this process has ended.
func (i *installation) watch() (err error) {
	cmd := exec.Command("sh", "-c", watch, "sh", i.dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if i.alive, err = cmd.StdinPipe(); err != nil {
		return err
	}
	return cmd.Start()
}

// give gives a file or folder to who runs the servers.
func (i *installation) give(path string) error {
	if i.account == nil {
		return nil
	}
	return os.Chown(path, int(i.account.Uid), int(i.account.Gid))
}

// folder makes a folder for a server, which nobody else may enter.
func (i *installation) folder(prefix string) (string, error) {
	dir, err := os.MkdirTemp(i.dir, prefix)
	if err != nil {
		return "", err
	}
	return dir, i.give(dir)
}

// command returns a command of who runs the servers, in a folder below which everything ends with this process.
func (i *installation) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: i.account}
	return cmd
}

// run runs such a command until it ends.
func (i *installation) run(program string, args ...string) error {
	if out, err := i.command(i.dir, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// init makes the files of a new server. They sort texts as people do, as most servers do, where PostgreSQL has this of its own.
func (i *installation) init() error {
	i.initial = filepath.Join(i.dir, "initial")
	args := []string{
		"-D", i.initial, "-U", "admin", "-A", "trust", "-E", "UTF8", "--no-locale", "--wal-segsize=1", "--no-sync", "--no-instructions",
	}
	if i.version >= 15 {
		args = append(args, "--locale-provider=icu", "--icu-locale=en-US")
	}
	if err := i.run(filepath.Join(i.bin, "initdb"), args...); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(i.initial, "pg_hba.conf"), []byte(access), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(i.initial, "postgresql.conf"), []byte(settings), 0o600)
}
