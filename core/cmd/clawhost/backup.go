package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/backup"
)

// notInBackups is what an archive does not contain, for people.
const notInBackups = `Not in it: the config and its file env (secrets), the agents' workspaces, Claude's login, the log. Copy what you need of
them yourself.`

// backup is the command that makes an archive of what the host keeps, and verifies one.
func (a *app) backup() *cobra.Command {
	var verify bool
	c := a.command("backup FILE|-", "Make an archive of what the host keeps, also while it runs", `
clawhost backup /var/backups/clawhost.tar.gz
clawhost backup -verify /var/backups/clawhost.tar.gz
clawhost backup - | ssh other 'umask 077; cat >clawhost.tar.gz'`, func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return usage("backup takes one file, or - for the output")
		}
		if verify {
			return a.verifyBackup(ctx, args[0])
		}
		return a.makeBackup(ctx, args[0])
	})
	c.Flags().BoolVar(&verify, "verify", false, "check that an archive can be restored, and change nothing")
	c.ValidArgsFunction = nil // a file
	return c
}

func (a *app) makeBackup(ctx context.Context, name string) error {
	places, err := a.places("backup " + process.Quoted(name))
	if err != nil {
		return err
	}
	from := backup.Source{StateDir: places.StateDir, Version: version, Claude: claudeFolders(places)}
	if name == "-" {
		if isTerminal(a.out) {
			return usage("the archive is not for a terminal: send the output to a file or a program")
		}
		made, err := backup.Write(ctx, a.out, from)
		if err != nil {
			return err
		}
		a.sayBackup(a.err, "The backup is written.", made)
		return backup.Remember(places.StateDir, backup.Record{Made: made.Made})
	}
	if name, err = filepath.Abs(name); err != nil {
		return err
	}
	for _, agent := range places.AllAgents() {
		if within(name, agent.Workspace) {
			return fmt.Errorf("%s is in the workspace of agent %s, which can read and send what is there: write the backup elsewhere", name, agent.Label)
		}
	}
	if within(name, places.StateDir) {
		return fmt.Errorf("%s is in state_dir, which it is to be a copy of: write the backup elsewhere, best to another disk", name)
	}
	made, err := backup.WriteFile(ctx, name, from)
	if err != nil {
		return err
	}
	if err := backup.Remember(places.StateDir, backup.Record{Path: name, Made: made.Made}); err != nil {
		return err
	}
	if a.json {
		return a.print(made)
	}
	a.sayBackup(a.out, "The backup is in "+name+".", made)
	return nil
}

// within reports whether a file is in a folder, or would be.
func within(name, dir string) bool {
	if real, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(real, filepath.Base(name))
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	relative, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(relative)
}

func (a *app) verifyBackup(ctx context.Context, name string) error {
	f, dir, err := a.archive(name)
	if err != nil {
		return err
	}
	defer f.Close()
	found, err := backup.Verify(ctx, f, dir)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(found)
	}
	a.sayBackup(a.out, "The backup can be restored: everything is in it as it was written, and its databases are whole.", found)
	return nil
}

// archive opens an archive, and returns a folder in which there should be space for it. The hyphen is the input.
func (a *app) archive(name string) (io.ReadCloser, string, error) {
	if name == "-" {
		return io.NopCloser(a.in), os.TempDir(), nil
	}
	f, err := backup.Open(name)
	if err != nil {
		return nil, "", err
	}
	return f, filepath.Dir(name), nil
}

// sayBackup says what is in an archive.
func (a *app) sayBackup(to io.Writer, first string, s backup.Summary) {
	fmt.Fprintln(to, printable(first))
	fmt.Fprintf(to, "It has the state of %s, by clawhost %s:\n", s.Made.Local().Format(time.DateTime), printable(s.Version))
	for _, p := range s.Parts {
		files := "files"
		if p.Files == 1 {
			files = "file"
		}
		fmt.Fprintf(to, "  %-20s %6d %-5s %9.1f MB\n", printable(p.Name), p.Files, files, float64(p.Bytes)/(1<<20))
	}
	fmt.Fprintln(to, notInBackups)
}

// restore is the command that puts an archive back.
func (a *app) restore() *cobra.Command {
	var replace bool
	c := a.command("restore FILE|-", "Restore what the host keeps from a backup, while no host runs", `
clawhost restore /var/backups/clawhost.tar.gz
clawhost restore -replace /var/backups/clawhost.tar.gz`, func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return usage("restore takes one file, or - for the input")
		}
		again := "restore " + process.Quoted(args[0])
		if replace {
			again = "restore -replace " + process.Quoted(args[0])
		}
		return a.restoreBackup(ctx, args[0], again, replace)
	})
	c.Flags().BoolVar(&replace, "replace", false, "move the state that is there aside")
	c.ValidArgsFunction = nil // a file
	return c
}

func (a *app) restoreBackup(ctx context.Context, name, again string, replace bool) error {
	places, err := a.places(again)
	if err != nil {
		return err
	}
	f, _, err := a.archive(name)
	if err != nil {
		return err
	}
	defer f.Close()
	folders := claudeFolders(places)
	done, err := backup.Restore(ctx, f, backup.Target{
		StateDir: places.StateDir, Claude: folders, Main: places.Agent.Claude.ConfigDir, Replace: replace, Now: time.Now(),
	})
	if done.Aside != "" {
		fmt.Fprintf(a.err, "What was there is in %s. Remove it when you no longer need it.\n", done.Aside)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.print(done)
	}
	a.sayBackup(a.out, "The backup is restored to "+places.StateDir+".", done.Summary)
	if done.Kept > 0 {
		fmt.Fprintf(a.out, "%d of Claude's transcripts exist already and stay: they have all that the backup has of them.\n", done.Kept)
	}
	if done.Uncertain > 0 {
		fmt.Fprintf(a.out, "Messages that were to be sent then, and that may arrive twice: %d.\n", done.Uncertain)
	}
	fmt.Fprintln(a.out, "Start the host to go on from there.")
	return nil
}

// places returns what the config says of the host's files. Another user than the host's is refused: what that one leaves there, the
// host could not use. Command is what to run instead.
func (a *app) places(command string) (*config.Config, error) {
	c, wrong, err := a.readPlaces(command)
	if err != nil {
		return nil, err
	}
	if wrong != nil {
		fmt.Fprintf(a.err, "The config does not read here as for the host; Claude's transcripts of the agent main are taken to be in %s:\n%s\n",
			printable(c.Agent.Claude.ConfigDir), visible(wrong.Error()))
	}
	return c, nil
}

// readPlaces does as places does, and returns what is wrong with the rest of the config.
func (a *app) readPlaces(command string) (c *config.Config, wrong, err error) {
	path, err := a.place()
	if err != nil {
		return nil, nil, err
	}
	if c, wrong, err = config.LoadPlaces(path, a.variable(path)); err != nil {
		return nil, nil, err
	}
	return c, wrong, ownedByUser(c.StateDir, path, command)
}

// ownedByUser refuses a folder, or the first one above it that exists, that belongs to another user. Path is the config that the command
// to run instead needs; empty: none.
func ownedByUser(dir, path, command string) error {
	there := dir
	info, err := os.Stat(there)
	for errors.Is(err, fs.ErrNotExist) && there != filepath.Dir(there) {
		there = filepath.Dir(there)
		info, err = os.Stat(there)
	}
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() || there != dir && os.Geteuid() != 0 {
		return nil
	}
	name := "#" + strconv.Itoa(int(stat.Uid))
	if u, err := user.LookupId(name[1:]); err == nil {
		name = u.Username
	}
	if path != "" {
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		command = "-config " + process.Quoted(path) + " " + command
	}
	return fmt.Errorf("%s belongs to %s, so the host runs as that user. Run this as that user: `sudo -u %s -H %s %s`",
		there, name, process.Quoted(name), process.Quoted(os.Args[0]), command)
}

// claudeFolders are the folders of the agents' CLIs, by the labels of the agents.
func claudeFolders(c *config.Config) map[string]string {
	folders := map[string]string{}
	for _, agent := range c.AllAgents() {
		if dir := agent.Claude.ConfigDir; dir != "" {
			folders[agent.Label] = dir
		}
	}
	return folders
}
