package support

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clawhost/clawhost/core/internal/base/build"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/memory"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/doctor"
	"github.com/clawhost/clawhost/core/internal/store"
)

// status is how a host is, in numbers and words of the host.
type status struct {
	Version         string    `json:"version"`
	PID             int       `json:"pid"`
	Up              string    `json:"up"`
	Demo            bool      `json:"demo"`
	Running         int       `json:"running"`
	Waiting         int       `json:"waiting"`
	Pending         int       `json:"pending"`
	Dead            int       `json:"dead"`
	Uncertain       int64     `json:"uncertain"`
	Questions       int       `json:"questions"`
	Claude          claude    `json:"claude"`
	Agents          []agent   `json:"agents"`
	Plugins         []plugin  `json:"plugins"`
	Problems        []problem `json:"problems"`
	AvailableMemory int64     `json:"available_memory"`
}

type claude struct {
	Version     string `json:"version"`
	Login       string `json:"login"`
	Problem     string `json:"problem,omitempty"`
	Running     int    `json:"running"`
	Idle        int    `json:"idle"`
	Spare       int    `json:"spare"`
	SpareMemory int64  `json:"spare_memory"`
	Memory      int64  `json:"memory"`
	MaxMemory   int64  `json:"max_memory"`
}

type agent struct {
	Label   string `json:"label"`
	OpenTo  string `json:"open_to"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
}

type plugin struct {
	Label      string   `json:"label"`
	State      string   `json:"state"`
	Connection string   `json:"connection,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	Version    string   `json:"version,omitempty"`
	Kinds      []string `json:"kinds,omitempty"`
	For        string   `json:"for,omitempty"`
	Restarts   int      `json:"restarts"`
}

type problem struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Subject  string `json:"subject,omitempty"`
	Detail   string `json:"detail,omitempty"`
	For      string `json:"for"`
	Gone     bool   `json:"gone,omitempty"`
}

// since says how long ago a time was; empty: it is not known.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return time.Since(t).Round(time.Second).String()
}

func (b *bundle) statusOf(s admin.Status) status {
	d, c := b.disguise, s.Claude
	shown := status{
		Version: d.one(release(), "version", s.Version), PID: s.PID, Up: since(s.Started), Demo: s.Demo, Running: s.Running, Waiting: s.Waiting, Pending: s.Pending,
		Dead: s.Dead, Uncertain: s.Uncertain, Questions: len(s.Questions), AvailableMemory: c.AvailableMemory,
		Claude: claude{
			Version: d.one(release(), "version", c.Version), Login: d.text(c.Login), Problem: d.text(c.Problem), Running: c.Running, Idle: c.Idle, Spare: c.Spare,
			SpareMemory: c.SpareMemory, Memory: c.Memory, MaxMemory: c.MaxMemory,
		},
	}
	for _, a := range s.Agents {
		shown.Agents = append(shown.Agents, agent{d.name("agent", a.Label), d.text(a.OpenTo), len(a.Running), a.Waiting})
	}
	for _, p := range s.Plugins {
		shown.Plugins = append(shown.Plugins, plugin{
			Label: d.label(p.Name), State: d.text(p.State), Connection: d.text(p.Connection), Detail: d.text(p.Detail), Version: d.one(release(), "version", p.Version),
			Kinds: p.Kinds, For: since(p.Since), Restarts: p.Restarts,
		})
	}
	for _, p := range s.Problems {
		subject := p.Subject
		if subject != "" {
			subject = d.label(subject)
		}
		shown.Problems = append(shown.Problems, problem{string(p.Code), string(p.Severity), subject, d.text(p.Detail), since(p.Since), !p.Gone.IsZero()})
	}
	return shown
}

// queue is how much waits.
type queue struct {
	Lanes        []lane        `json:"lanes"`
	Destinations []destination `json:"destinations"`
	Uncertain    int64         `json:"uncertain"`
}

type lane struct {
	Session  string      `json:"session"`
	Lane     domain.Lane `json:"lane"`
	Waiting  int         `json:"waiting"`
	Running  bool        `json:"running"`
	For      string      `json:"for"`
	Attempts int         `json:"attempts"`
}

type destination struct {
	Channel  string `json:"channel"`
	Chat     string `json:"chat"`
	Pending  int    `json:"pending"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`
}

func (b *bundle) queueOf(q admin.Queue) queue {
	d, shown := b.disguise, queue{Uncertain: q.Uncertain}
	for _, l := range q.Lanes {
		shown.Lanes = append(shown.Lanes, lane{d.name("session", l.Session), l.Lane, l.Waiting, l.Running, since(l.Since), l.Attempts})
	}
	for _, to := range q.Destinations {
		shown.Destinations = append(shown.Destinations, destination{
			d.label(to.To.Channel), d.name("chat", to.To.Channel+":"+string(to.To.Chat)), to.Pending, to.Attempts, d.text(to.LastError),
		})
	}
	return shown
}

// finding is one of the doctor's.
type finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

func (b *bundle) findingsOf(list []doctor.Finding) (shown []finding) {
	for _, f := range list {
		shown = append(shown, finding{f.Code, string(f.Severity), b.disguise.text(f.Text)})
	}
	return shown
}

// about is what is known of the program and the machine.
type about struct {
	Made       time.Time    `json:"made,omitzero"`
	Build      build.Info   `json:"build"`
	System     string       `json:"system"`
	Machine    string       `json:"machine"`
	Kernel     string       `json:"kernel"`
	Processors int          `json:"processors"`
	Root       bool         `json:"root"`
	Memory     memory.State `json:"memory"`
	OpenFiles  uint64       `json:"open_files"`
}

func (b *bundle) about() about {
	info := build.Read(b.options.Version)
	info.Version = b.disguise.one(release(), "version", info.Version)
	shown := about{
		Made: time.Now().UTC().Truncate(time.Second), Build: info, System: runtime.GOOS, Machine: runtime.GOARCH, Processors: runtime.NumCPU(), Root: os.Geteuid() == 0,
	}
	var name unix.Utsname // of which the name of the machine is left out
	if unix.Uname(&name) == nil {
		shown.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	shown.Memory, _ = memory.Machine{}.Read()
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		shown.OpenFiles = limit.Cur
	}
	return shown
}

// folder is a folder of the host.
type folder struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	Whole bool   `json:"whole"` // all of it was counted
}

// maxCounted bounds the files of a folder that are counted.
const maxCounted = 200_000

func (b *bundle) folders(ctx context.Context) (shown []folder) {
	state := b.options.Config.StateDir
	for _, name := range []string{store.File, store.File + "-wal", "media", "plugins", "exports", "run"} {
		shown = append(shown, measure(ctx, name, filepath.Join(state, name)))
	}
	for _, a := range b.options.Config.AllAgents() {
		shown = append(shown, measure(ctx, b.disguise.name("workspace", a.Workspace), a.Workspace))
	}
	return shown
}

// measure counts the files of a folder, and their bytes. It follows no links.
func measure(ctx context.Context, name, path string) folder {
	f := folder{Name: name, Whole: true}
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if f.Files >= maxCounted || ctx.Err() != nil {
			f.Whole = false
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		f.Files++
		if info, err := entry.Info(); err == nil {
			f.Bytes += info.Size()
		}
		return nil
	})
	f.Whole = f.Whole && err == nil
	return f
}

// readme is what a bundle says about itself.
func readme(entries []Entry) string {
	var text strings.Builder
	text.WriteString("A bundle of `clawhost support`. It has no secrets, messages, names, ids or files of people: what could be about them is left out (…) or\n" +
		"has a number, such as person-1, which stands for the same in all files. Look at the files before you send them to anybody.\n\n")
	for _, e := range entries {
		text.WriteString(e.Name + ": " + e.About + "\n")
	}
	return text.String()
}
