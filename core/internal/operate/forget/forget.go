// Package forget deletes what a host keeps of one person, and finds what still has them. No host may run: the files of plugins and the
// database are then nobody else's.
package forget

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/operate/backup"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Options say who is forgotten.
type Options struct {
	Config *config.Config
	Person string   // as channel:user
	Names  []string // by which others know the person, as networks show them
	DryRun bool     // only count
}

// Report is what was deleted, and what still has the person.
type Report struct {
	Users    []string         `json:"users"`    // of the person, as channel:user
	Rows     map[string]int64 `json:"rows"`     // of the database, by table
	Sessions []string         `json:"sessions"` // that were the person's alone
	Files    int              `json:"files"`    // files and folders
	Waiting  int              `json:"waiting"`  // messages in groups that are not answered yet
	Plugins  []Plugin         `json:"plugins"`  // that keep files
	Database []store.Mention  `json:"database"` // what of the database still has the person
	Left     []Left           `json:"left"`     // other files that do
	More     bool             `json:"more"`     // there are more such files
	Backups  []backup.Record  `json:"backups"`
}

// Left is a file that still names the person.
type Left struct {
	Path string `json:"path"`
	Term string `json:"term"` // the id or name that was found
}

// Parse splits channel:user.
func Parse(person string) (store.PersonUser, error) {
	channel, user, ok := strings.Cut(person, ":")
	if !ok || channel == "" || user == "" {
		return store.PersonUser{}, fmt.Errorf("%q is not a person; one looks like telegram:1001", person)
	}
	return store.PersonUser{Channel: channel, ID: chat.UserID(user)}, nil
}

// personOf returns all users of a person that the config links.
func personOf(c *config.Config, person string) (store.Person, error) {
	one, err := Parse(person)
	if err != nil {
		return store.Person{}, err
	}
	who := store.Person{Users: []store.PersonUser{one}}
	settings := []config.Settings{c.Settings}
	for _, p := range c.Plugins {
		settings = append(settings, c.For(p.Label))
	}
	for _, s := range settings {
		for name, users := range s.Session.IdentityLinks {
			if !slices.Contains(users, person) {
				continue
			}
			who.Identity = name
			for _, user := range users {
				if u, err := Parse(user); err == nil && !slices.Contains(who.Users, u) {
					who.Users = append(who.Users, u)
				}
			}
		}
	}
	return who, nil
}

// RunsError is the error while a host, or another command that needs its files for itself, runs.
type RunsError struct {
	PID      int // zero: unknown
	StateDir string
}

// Error says what to do.
func (e *RunsError) Error() string {
	who := "clawhost runs"
	if e.PID > 0 {
		who = fmt.Sprintf("clawhost runs (process %d)", e.PID)
	}
	return fmt.Sprintf("%s with %s, and nobody can be forgotten meanwhile: stop it, such as by `sudo systemctl stop clawhost`, and run this again",
		who, e.StateDir)
}

// Run deletes what the host keeps of a person. A [RunsError] says that a host runs; none can start meanwhile. It may be repeated after an
// error.
func Run(ctx context.Context, o Options) (report Report, err error) {
	who, err := personOf(o.Config, o.Person)
	if err != nil {
		return report, err
	}
	who.Names = o.Names
	database := filepath.Join(o.Config.StateDir, store.File)
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("%w (%s)", backup.ErrNoDatabase, o.Config.StateDir)
	}
	s, err := store.Open(ctx, database, store.Options{}) // no host can start until it is closed
	if locked, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return report, &RunsError{PID: locked.PID, StateDir: o.Config.StateDir}
	}
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := s.Forget(ctx, who, true)
	if err != nil {
		return report, err
	}
	// The files go first: without the rows, they would not be found again.
	if report.Plugins, err = ask(ctx, o, found); err != nil {
		return report, err
	}
	if !o.DryRun {
		if report.Files, err = remove(ctx, o.Config, s, found); err != nil {
			return report, err
		}
		if found, err = s.Forget(ctx, who, false); err != nil {
			return report, err
		}
		if err := jobs.Sweep(ctx, filepath.Join(o.Config.StateDir, jobs.Folder), s); err != nil {
			return report, err
		}
		if err := s.Compact(); err != nil {
			return report, err
		}
	}
	for _, u := range who.Users {
		report.Users = append(report.Users, u.Channel+":"+string(u.ID))
	}
	report.Rows, report.Sessions, report.Waiting, report.Database = found.Rows, found.Sessions, found.Waiting, found.Left
	if report.Backups, err = backup.Records(o.Config.StateDir); err != nil {
		return report, err
	}
	report.Left, report.More, err = search(ctx, o.Config, found.Terms)
	if len(report.Database) > 0 { // which says more than that its file has the person
		report.Left = slices.DeleteFunc(report.Left, func(l Left) bool { return l.Path == database || l.Path == database+"-wal" })
	}
	// In JSON, nothing is an empty list.
	report.Sessions, report.Plugins, report.Database = append([]string{}, report.Sessions...), append([]Plugin{}, report.Plugins...), append([]store.Mention{}, report.Database...)
	report.Left, report.Backups = append([]Left{}, report.Left...), append([]backup.Record{}, report.Backups...)
	return report, err
}

// remove deletes the files that the database names or that are named after what is in it.
func remove(ctx context.Context, c *config.Config, needs files.Needs, found store.Forgotten) (removed int, err error) {
	conversations := map[string]bool{}
	for _, id := range found.Conversations {
		conversations[id] = true
	}
	dirs := map[string]bool{}
	for _, a := range c.AllAgents() {
		if dir := a.Claude.ConfigDir; dir != "" {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		n, err := transcript.Discard(ctx, dir, conversations)
		if removed += n; err != nil {
			return removed, err
		}
	}
	needed, err := files.Needed(ctx, needs)
	if err != nil {
		return removed, err
	}
	gone := map[string]bool{} // refs of files that are removed
	for _, channel := range found.Channels {
		n, err := removeIn(filepath.Join(c.StateDir, "media"), channel, func(name string) bool {
			gone[name] = !needed[name]
			return !needed[name]
		})
		if removed += n; err != nil {
			return removed, err
		}
	}
	exports := filepath.Join(c.StateDir, "exports")
	n, err := removeIn(c.StateDir, "exports", func(name string) bool { return slices.Contains(found.Sessions, sessionOf(exports, name)) })
	if removed += n; err != nil {
		return removed, err
	}
	for _, a := range c.AllAgents() {
		n, err := removeIn(a.Workspace, folder.Inbound, func(name string) bool {
			ref, _, _ := strings.Cut(name, ".")
			return gone[ref]
		})
		if removed += n; err != nil {
			return removed, err
		}
		for id := range conversations {
			place := outgoing.Folder(id)
			if place == "" {
				continue
			}
			n, err := removeIn(a.Workspace, path.Dir(filepath.ToSlash(place)), func(name string) bool { return name == path.Base(place) })
			if removed += n; err != nil {
				return removed, err
			}
		}
	}
	// What an earlier process of the host left for its plugins and Claude, and an interrupted backup.
	for _, dir := range []string{"run", backup.ScratchFolder} {
		n, err := removeIn(c.StateDir, dir, func(string) bool { return true })
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// maxListed bounds the names of a folder that are looked at.
const maxListed = 200_000

// removeIn removes what a folder in another one has under names that fit.
func removeIn(root, dir string, fits func(name string) bool) (removed int, err error) {
	in, err := workspace.New(root).Open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if info, err := in.Lstat(dir); err != nil || !info.IsDir() {
		return 0, nil // a link leads to what is not the host's
	}
	names, _, err := in.Names(dir, maxListed)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !fits(name) {
			continue
		}
		if err := in.Do(func(root *os.Root) error { return root.RemoveAll(path.Join(dir, name)) }); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// sessionOf returns the key of the session that an export is of; empty: it is none.
func sessionOf(dir, name string) string {
	in, err := workspace.New(dir).Open()
	if err != nil {
		return ""
	}
	defer in.Close()
	const most = 8 << 10 // more than a key may have
	text, err := in.ReadFile(name, most)
	if err != nil && !errors.Is(err, workspace.ErrTooLong) {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var head struct {
		Session string `json:"session"`
	}
	if json.Unmarshal(line, &head) != nil {
		return ""
	}
	return head.Session
}

// Tables returns the tables with rows that were deleted, in order.
func (r Report) Tables() []string { return slices.Sorted(maps.Keys(r.Rows)) }
