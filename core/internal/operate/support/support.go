// Package support makes a bundle of what shows how a host works, for those who help its operator: without secrets, and without what
// people have written or what they are called.
package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/doctor"
)

const (
	// maxEntry bounds what a bundle has of one kind, in bytes.
	maxEntry = 8 << 20
	// maxConfig bounds the config file, in bytes.
	maxConfig = 4 << 20
	// MaxProfiled is the longest profile.
	MaxProfiled = time.Minute
	// patience is how long everything else may take.
	patience = time.Minute
	// logLines is the number of lines of the log, of those that the host keeps.
	logLines = 10_000
)

// Options are of what a bundle is made.
type Options struct {
	Version string         // of this program
	Path    string         // of the config file
	Config  *config.Config // nil: it cannot be read
	Client  *admin.Client  // of the host; nil: without a config there is none
	Doctor  doctor.Options
	For     time.Duration // of the profile, and so at least of the log; rounded to seconds
}

// Entry is a file of a bundle.
type Entry struct {
	Name    string
	About   string // what it is, for people
	content []byte
}

// Size is that of the content, in bytes.
func (e Entry) Size() int { return len(e.content) }

// bundle is what is being collected.
type bundle struct {
	options  Options
	disguise *disguise
	entries  []Entry
	failed   []string // what is missing, and why
}

// Collect returns the bundle of a host, or of a machine on which none runs. It takes the time of the profile, and at most a minute more.
func Collect(asked context.Context, o Options) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(asked, patience+min(o.For, MaxProfiled))
	defer cancel()
	var labels []string
	if o.Config != nil {
		for _, p := range o.Config.Plugins {
			labels = append(labels, p.Label)
		}
	}
	b := &bundle{options: o, disguise: newDisguise(labels)}
	if o.Client != nil {
		b.host(ctx)
	}
	b.machine(ctx)
	if len(b.failed) > 0 {
		b.text("missing.txt", "what could not be had, and why", strings.Join(b.failed, "\n")+"\n")
	}
	about := Entry{Name: "README.txt", About: "what this is", content: []byte(readme(b.entries))}
	return append([]Entry{about}, b.entries...), context.Cause(asked)
}

// host asks the running host.
func (b *bundle) host(ctx context.Context) {
	status, err := b.options.Client.Status(ctx)
	if errors.Is(err, admin.ErrNotRunning) {
		b.failed = append(b.failed, "the host: none is running")
		return
	}
	b.json("status.json", "how the host is, its plugins and its problems", b.statusOf(status), err)
	queue, err := b.options.Client.Queue(ctx)
	b.json("queue.json", "how much waits, and for how long", b.queueOf(queue), err)
	tables, err := b.options.Client.Tables(ctx)
	b.json("tables.json", "the tables of the database, and how many rows they have", tables, err)
	stacks, err := b.options.Client.Goroutines(ctx)
	b.add("goroutines.txt", "what each goroutine of the host does", []byte(goroutines(string(stacks))), err)
	heap, err := b.options.Client.Heap(ctx)
	b.profile("heap.pb.gz", "where the host has its memory, for go tool pprof", heap, err)
	cpu, err := b.options.Client.CPU(ctx, int(min(b.options.For, MaxProfiled).Seconds()))
	b.profile("cpu.pb.gz", "where the host spends its time, for go tool pprof", cpu, err)
	var log strings.Builder
	err = b.options.Client.Logs(ctx, admin.LogRequest{Lines: logLines, JSON: true}, func(line string) { log.WriteString(b.disguise.line(line) + "\n") })
	b.add("log.txt", "the newest lines of the host's log", []byte(log.String()), err)
}

// machine looks at what there is without the host.
func (b *bundle) machine(ctx context.Context) {
	b.json("about.json", "the versions, the system and its resources", b.about(), nil)
	text, err := readConfig(b.options.Path)
	b.add("config.txt", "which names the config has", []byte(b.disguise.configOf(text)), err)
	if b.options.Config != nil {
		b.json("folders.json", "how large the folders are", b.folders(ctx), nil)
	}
	found, err := doctor.Examine(ctx, b.options.Doctor)
	b.json("doctor.json", "what clawhost doctor finds", b.findingsOf(found), err)
}

func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConfig))
}

// add adds what was had without an error.
func (b *bundle) add(name, about string, content []byte, err error) {
	switch {
	case err != nil:
		b.failed = append(b.failed, name+": "+b.disguise.text(err.Error()))
	case len(content) > maxEntry:
		b.failed = append(b.failed, name+": it is too large")
	default:
		b.entries = append(b.entries, Entry{name, about, content})
	}
}

// profile adds a profile that was had without an error.
func (b *bundle) profile(name, about string, packed []byte, err error) {
	if err == nil {
		packed, err = profile(packed)
	}
	b.add(name, about, packed, err)
}

func (b *bundle) text(name, about, content string) { b.add(name, about, []byte(content), nil) }

func (b *bundle) json(name, about string, value any, err error) {
	content, wrong := json.MarshalIndent(value, "", "  ")
	b.add(name, about, append(content, '\n'), errors.Join(err, wrong))
}

// Free returns why a file cannot be made: there is one already.
func Free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists; name another file, or remove it", path)
	}
	return nil
}

// Write makes the file of a bundle, which must not be there, for its owner alone.
func Write(path string, entries []Entry, now time.Time) (err error) {
	var content bytes.Buffer
	pack := gzip.NewWriter(&content)
	files := tar.NewWriter(pack)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: "clawhost-support/" + e.Name, Mode: 0o600, Size: int64(len(e.content)), ModTime: now.Truncate(time.Second).UTC()}
		if err := files.WriteHeader(header); err != nil {
			return err
		}
		if _, err := files.Write(e.content); err != nil {
			return err
		}
	}
	if err := errors.Join(files.Close(), pack.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(path)
		}
	}()
	_, err = f.Write(content.Bytes())
	return err
}
