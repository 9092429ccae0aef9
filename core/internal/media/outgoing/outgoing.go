// Package outgoing takes the files that the agent sends: those that its answers name, in the workspace or on the web, and those in its
// conversation's folder. None of the host's own files is sent, whatever path leads to it.
package outgoing

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/budget"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// maxFiles limits the files of an answer.
	maxFiles = 10
	// maxProblems limits the problems that are reported individually.
	maxProblems = 5
	// webTime limits fetching all files of an answer, which waits for it.
	webTime = time.Minute
)

// Options configure where the agent's files are, and which of them may be sent.
type Options struct {
	Agent     string // whose workspace it is, for the ledger
	Store     *files.Store
	Ledger    Ledger
	Workspace string
	// Own are the host's files and folders, which are never sent. They do not overlap with the workspace, except that the
	// workspace may be within one of them.
	Own []string
	// Web fetches the files that the agent refers to by address; nil: none. An address can carry data out.
	Web   *web.Fetcher
	Space files.SpaceOptions // of all conversations' folders together
}

// Files collects the files that the agent sends with an answer. It is safe for concurrent use.
type Files struct {
	agent     string
	store     *files.Store
	ledger    Ledger
	workspace *workspace.Workspace
	private   own
	web       *web.Fetcher // nil: none
	webTime   time.Duration
	space     *files.Space
	log       hclog.Logger
	warnings  *budget.Warnings
}

// New returns the outgoing files of a workspace.
func New(options Options, log hclog.Logger) *Files {
	w := workspace.New(options.Workspace)
	outbound := files.Folder{Name: wording.FolderOutbound, Root: w, Dir: folder.Outbound, Parts: true, Young: unfinished}
	return &Files{
		agent: options.Agent, store: options.Store, ledger: options.Ledger, workspace: w, private: own{options.Own, options.Workspace},
		web: options.Web, webTime: webTime, space: files.NewSpace(outbound, options.Space), log: log,
		warnings: budget.NewWarnings(log, "files and pages"),
	}
}

// Wanted says which files to send with an answer.
type Wanted struct {
	Channel string
	Paths   []string // named by the agent
	Folder  string   // in which the agent works, and may name files; empty: its workspace
	Session string   // the conversation whose folder is read; empty: none
	Named   bool     // files in the folder that are not named stay there
	Before  []string // files that were already sent, as in Sent of [Collected]: they are not sent again
	Already int      // files that were sent before the answer and count with it
	Private bool     // only the owner reads the chat: elsewhere the owner's memory and files of other chats are not sent
	Voice   bool     // send audio as a voice message if the chat accepts one
	Limits  []chat.MediaLimit
}

// Collected is the result of collecting the files of an answer.
type Collected struct {
	Media    []chat.Media
	Sent     []string // identifies the files in Media, each by its name and version
	By       []int    // for each of Media the index of the first path that named it; -1: from the folder
	Problems []string // a sentence each, for the chat
	// Files are the handled files of the conversation's folder. They must be recorded in the [Ledger] when the answer
	// becomes durable, and then passed to [Files.Clear].
	Files []domain.OutgoingFile
}

// Collect copies the files of an answer to the media store of its channel: those at the paths that the agent named, each
// within the workspace or a web address, then those in the conversation's folder, by name, that no answer has handled.
// Copies let the agent change its files while the plugin can still download the original content. A file beyond the chat's
// limits is sent as a simpler kind, or not at all. Files beyond the maximum number stay in the folder for the next answer.
// All web files together have a minute; if ctx ends no more of them are fetched, but the workspace's files are still taken.
//
// It may be called again for the same answer: copies that are in no message expire. An error, which is an [*agent.Failure],
// means that the files are temporarily unavailable; then none is taken.
func (o *Files) Collect(ctx context.Context, w Wanted) (Collected, error) {
	root, err := o.workspace.Open()
	if err == nil {
		defer root.Close()
		_, err = root.Stat(".")
	}
	if err != nil {
		if failure := files.Unavailable(err); failure != nil {
			return Collected{}, failure
		}
		o.log.Error("cannot look for outgoing files", "error", err)
		return Collected{Problems: []string{wording.FilesFailed}}, nil
	}
	c := &collection{from: o, wanted: w, root: root, own: Folder(w.Session)}
	if w.Folder != "" {
		c.folder = workspace.New(w.Folder)
	}
	webCtx, cancel := context.WithTimeout(ctx, o.webTime)
	defer cancel()
	ctx = context.WithoutCancel(ctx)
	for i, path := range w.Paths {
		if c.missing != nil {
			break
		}
		c.named(ctx, webCtx, path)
		c.namedBy(i)
	}
	if !w.Named && c.missing == nil {
		c.prepared(ctx)
		c.namedBy(-1)
	}
	if c.missing != nil {
		for _, m := range c.taken.Media {
			c.from.store.Drop(ctx, c.wanted.Channel, m.Ref)
		}
		return Collected{}, c.missing
	}
	if len(c.taken.Problems) > maxProblems {
		c.taken.Problems = append(c.taken.Problems[:maxProblems], wording.FileProblems(len(c.taken.Problems)-maxProblems))
	}
	if c.beyond > 0 {
		c.problem(wording.FilesBeyond(c.beyond, maxFiles))
	}
	if c.waiting > 0 {
		c.problem(wording.FilesLater(c.waiting, maxFiles))
	}
	return c.taken, nil
}

// collection is the state of collecting the files of one answer.
type collection struct {
	from   *Files
	wanted Wanted
	taken  Collected
	root   *workspace.Folder
	folder *workspace.Workspace // where the agent works; nil: in its workspace
	own    string               // the conversation's folder

	looked  []looked // the agent's files so far, so that none is sent twice
	fetched []string
	beyond  int            // number of files beyond the limit
	waiting int            // number of those in the folder
	missing *agent.Failure // temporary failure
}

// namedBy records which of the paths named the files taken since.
func (c *collection) namedBy(path int) {
	for len(c.taken.By) < len(c.taken.Media) {
		c.taken.By = append(c.taken.By, path)
	}
}

// looked is a file that was handled.
type looked struct {
	info        fs.FileInfo
	disposition disposition
}

// disposition is the result of handling a file.
type disposition int

const (
	kept     disposition = iota // unchanged: another answer may send it
	reported                    // not sent, and the chat is informed
	sent
)

// problem reports to the chat why a file is not sent.
func (c *collection) problem(text string) disposition {
	if !slices.Contains(c.taken.Problems, text) {
		c.taken.Problems = append(c.taken.Problems, text)
	}
	return reported
}

// scheme matches the scheme of an address.
var scheme = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// named takes a file that the agent named. The second context is for web files.
func (c *collection) named(ctx, webCtx context.Context, path string) {
	path = strings.TrimSpace(path)
	kind := strings.ToLower(strings.TrimSuffix(scheme().FindString(path), ":"))
	switch kind {
	case "http", "https":
		if c.from.web == nil || len(c.wanted.Limits) == 0 {
			c.problem(wording.NoFilesOfWeb)
			return
		}
		c.fetch(ctx, webCtx, path)
		return
	case "data":
		c.problem(wording.NoDataFiles)
		return
	}
	if c.folder != nil {
		if found, err := local(c.folder.Dir(), path); err == nil {
			c.elsewhere(ctx, found)
			return
		}
	}
	found, err := local(c.from.workspace.Dir(), path)
	if err == nil && !c.wanted.Private && others(found, c.own) {
		err = wording.PathPrivate
	}
	if err != nil {
		c.unsent(filepath.Base(path), err)
		return
	}
	c.open(ctx, found)
}

// elsewhere takes a file of the folder in which the agent works.
func (c *collection) elsewhere(ctx context.Context, path string) {
	root, err := c.folder.Open()
	if err != nil {
		c.unsent(filepath.Base(path), err)
		return
	}
	defer root.Close()
	c.openIn(ctx, root, path, filepath.Join(c.folder.Dir(), path))
}

// open takes a file of the workspace.
func (c *collection) open(ctx context.Context, path string) disposition {
	return c.openIn(ctx, c.root, path, path)
}

// openIn takes a file of a folder, which has this name among all files of the agent.
func (c *collection) openIn(ctx context.Context, root *workspace.Folder, within, path string) disposition {
	name := filepath.Base(path)
	file, err := files.OpenPlain(root, within)
	if errors.Is(err, wording.PathMissing) &&
		slices.ContainsFunc(c.wanted.Before, func(id string) bool { return strings.HasPrefix(id, path+" ") }) {
		return sent // and then removed
	}
	if err != nil {
		return c.unsent(name, err)
	}
	defer file.Close()
	info := file.Info()
	if i := slices.IndexFunc(c.looked, func(l looked) bool { return os.SameFile(l.info, info) }); i >= 0 {
		return c.looked[i].disposition
	}
	hosts, err := c.from.private.has(file.File(), info)
	if hosts {
		err = wording.PathOwn
	}
	disposition, id := kept, path+" "+version(info)
	switch {
	case err != nil:
		disposition = c.unsent(name, err)
	case slices.Contains(c.wanted.Before, id):
		disposition = sent
	case c.wanted.Already+len(c.taken.Media) < maxFiles:
		disposition = c.take(ctx, name, id, chat.Media{FileName: name}, file, info.Size())
	case c.inFolder(path):
		c.waiting++
	default:
		c.beyond++
	}
	c.looked = append(c.looked, looked{info, disposition})
	if c.wanted.Named && disposition == sent && c.inFolder(path) {
		c.taken.Files = append(c.taken.Files, domain.OutgoingFile{Agent: c.from.agent, Folder: c.own, Name: name, Version: version(info), Sent: true})
	}
	return disposition
}

// fetch takes a file of the web.
func (c *collection) fetch(ctx, webCtx context.Context, address string) {
	if slices.Contains(c.fetched, address) || slices.Contains(c.wanted.Before, address) {
		return
	}
	c.fetched = append(c.fetched, address)
	if c.wanted.Already+len(c.taken.Media) >= maxFiles {
		c.beyond++
		return
	}
	name := wording.FileAt("")
	if u, err := url.Parse(address); err == nil {
		name = wording.FileAt(u.Hostname())
	}
	if webCtx.Err() != nil {
		c.unsent(name, wording.AddressTooLate)
		return
	}
	found, err := c.from.web.Get(webCtx, address)
	if err != nil {
		c.unsent(name, err)
		return
	}
	defer found.Close()
	c.take(ctx, name, address, found.Claim, found, found.Size)
}

// take copies a file to the host's store and adds it, if the chat accepts it. Its id is recorded with sent files. A size of
// -1 is unknown.
func (c *collection) take(ctx context.Context, name, id string, claim chat.Media, content io.Reader, size int64) disposition {
	most := filetype.Largest(c.wanted.Limits)
	switch {
	case most == 0:
		return c.problem(wording.FileNotTaken(shown(name), "files"))
	case size == 0:
		return c.problem(wording.FileEmpty(shown(name)))
	case size > most:
		return c.tooLarge(name, size, most)
	}
	m, err := c.from.store.Receive(c.wanted.Channel, claim, content, most)
	switch {
	case errors.Is(err, files.ErrTooLarge):
		return c.tooLarge(name, 0, most)
	case err != nil:
		return c.unsent(name, err)
	}
	if disposition := c.admit(name, &m); disposition != sent {
		c.from.store.Drop(ctx, c.wanted.Channel, m.Ref)
		return disposition
	}
	if err := c.from.store.Record(ctx, c.wanted.Channel, m); err != nil {
		return c.unsent(name, err)
	}
	c.taken.Media, c.taken.Sent = append(c.taken.Media, m), append(c.taken.Sent, id)
	return sent
}

// admit converts a file to a kind that the chat accepts.
func (c *collection) admit(name string, m *chat.Media) disposition {
	if c.wanted.Voice && m.Kind == chat.Audio {
		m.Kind = chat.Voice
	}
	kind, most := filetype.Fit(*m, c.wanted.Limits)
	switch {
	case m.Size == 0:
		return c.problem(wording.FileEmpty(shown(name)))
	case kind != 0:
		m.Kind = kind
		if m.FileName == "" {
			m.FileName = "file" + filetype.Ending(m.MIMEType)
		}
		return sent
	case most == 0:
		return c.problem(wording.FileNotTaken(shown(name), plural(m.Kind)))
	default:
		return c.tooLarge(name, m.Size, most)
	}
}

// tooLarge reports a file above the limit. A size of zero is unknown.
func (c *collection) tooLarge(name string, size, most int64) disposition {
	if size > 0 {
		return c.problem(wording.FileTooLarge(shown(name), filetype.Megabytes(size), filetype.Megabytes(most)))
	}
	return c.problem(wording.FileTooLarge(shown(name), "", filetype.Megabytes(most)))
}

// unsent reports why a file is not sent. Details that do not help the chat are logged, and the error may be temporary.
func (c *collection) unsent(name string, err error) disposition {
	var why wording.Reason
	if errors.As(err, &why) {
		return c.problem(wording.FileNotSent(shown(name), why))
	}
	if failure := files.Unavailable(err); failure != nil {
		c.missing = failure
		return kept
	}
	c.from.warnings.Warn("a file of the agent's is not sent", "channel", c.wanted.Channel, "error", err)
	c.problem(wording.FileUnreadable(shown(name)))
	return kept
}

// plural returns the plural of a kind.
func plural(kind chat.MediaKind) string {
	switch kind {
	case chat.Image:
		return "pictures"
	case chat.Voice, chat.Audio:
		return "sound"
	case chat.Video:
		return "videos"
	default:
		return "files"
	}
}

// shown returns a file's name without markup.
func shown(name string) string {
	name = filetype.CleanName(name)
	if name == "" {
		return wording.SomeFile
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("*[]<>`\\|~", r) {
			return '_'
		}
		return r
	}, name)
}
