package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// codeUser is the code of the finding that this is not the host's user.
const codeUser = "user"

// findUser looks whether this is the host's user. Another one sees other logins and programs, and root would leave files that the host
// cannot open.
func findUser(o Options) (Finding, bool) {
	dir := existing(o.Config.StateDir)
	info, err := os.Stat(dir)
	switch {
	case o.Host != nil: // it answers no other user
	case err == nil && ownerOf(info) != nameOf(os.Geteuid()) && (dir == o.Config.StateDir || os.Geteuid() == 0):
		name := ownerOf(info)
		return fault(codeUser, fmt.Sprintf("%s belongs to %s, so the host runs as that user", dir, name), "Run this as that user: "+as(name, o)), true
	case errors.Is(o.HostErr, admin.ErrOtherUser): // the folder is behind one that this user may not enter
		return fault(codeUser, o.HostErr.Error(), ""), true
	}
	return Finding{}, false
}

// unread reports whether this user cannot read a file.
func unread(path string) bool { return errors.Is(unix.Access(path, unix.R_OK), fs.ErrPermission) }

// adviceToRead says who can read the config; empty: this user can.
func adviceToRead(o Options) string {
	if !unread(o.Path) {
		return ""
	}
	name := "root"
	if info, err := os.Stat(o.Path); err == nil {
		name = ownerOf(info)
	}
	return "Run this as a user who can read it: " + as(name, o)
}

// findVariables looks whether the config lacks variables because this user cannot read them.
func findVariables(o Options) []Finding {
	vars := variables(o.Path)
	if unread(o.Path) || !unread(vars) {
		return nil
	}
	return []Finding{warning("variables_unread", fmt.Sprintf("%s has variables for the config, which this user cannot read", vars),
		"Run this as the service runs: "+as(nameOf(os.Geteuid()), o))}
}

// as returns how an administrator examines the config as another user, who may not be able to read its variables.
func as(name string, o Options) string {
	self, err := process.Executable()
	if err != nil {
		self = "clawhost"
	}
	command := fmt.Sprintf("%s -config %s doctor", process.Quoted(self), process.Quoted(absolute(o.Path)))
	vars := variables(o.Path)
	if info, err := os.Stat(vars); err != nil || info.Mode().Perm()&0o077 != 0 || ownerOf(info) == name {
		return fmt.Sprintf("`sudo -u %s -H %s`", process.Quoted(name), command)
	}
	return fmt.Sprintf("`sudo systemd-run --pipe --wait --uid=%s -p EnvironmentFile=%s %s`", process.Quoted(name), process.Quoted(vars), command)
}

// variables returns the path of the file with the variables of a config.
func variables(path string) string {
	return config.VariablesPath(absolute(path))
}

// absolute returns an absolute path, as far as the working directory is known.
func absolute(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// ownerOf returns the owner of a file.
func ownerOf(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return nameOf(int(stat.Uid))
}

// nameOf returns the name of a user, or the number as sudo writes it.
func nameOf(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "#" + id
}
