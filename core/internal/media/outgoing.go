package media

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxFiles is how many files go with one answer.
	maxFiles = 10
	// maxProblems is how many of the files that are not sent are told one by one.
	maxProblems = 5
	// webTime bounds the fetching of all files of one answer: the answer waits for it.
	webTime = time.Minute
)

// OutgoingOptions say where the files of the agent are, and which of them are not sent.
type OutgoingOptions struct {
	Files     *Files
	Ledger    Ledger
	Workspace string
	// Own are the files and folders of the host, which are never sent. They and the workspace are apart, but for a workspace
	// that is in one of them.
	Own []string
	// Fetches says that files of the web, which the agent names by their addresses, are sent, too: an address can carry
	// something out.
	Fetches bool
	Space   SpaceOptions // of the conversations' folders, over all
}

// Outgoing takes the files that the agent sends with an answer. It is safe for concurrent use.
type Outgoing struct {
	files      *Files
	ledger     Ledger
	workspace  string
	private    own
	web        fetcher
	fetches    bool // files of the web, too
	webTime    time.Duration
	room       room
	log        hclog.Logger
	complaints complaints
}

// NewOutgoing returns the outgoing files of a workspace.
func NewOutgoing(options OutgoingOptions, log hclog.Logger) *Outgoing {
	return newOutgoing(options, newGuard(), log)
}

func newOutgoing(options OutgoingOptions, g guard, log hclog.Logger) *Outgoing {
	return &Outgoing{
		room:  room{SpaceOptions: options.Space, name: wording.FolderOutbound, root: options.Workspace, dir: outboundDir, parts: true, young: inTheMaking},
		files: options.Files, ledger: options.Ledger, workspace: options.Workspace, private: own{options.Own, options.Workspace},
		fetches: options.Fetches, web: newFetcher(g), webTime: webTime, log: log, complaints: complaints{log: log},
	}
}

// Wanted is what is to go with an answer.
type Wanted struct {
	Channel string
	Paths   []string // that the agent named
	Session string   // the conversation whose folder is looked into; empty: none is
	Named   bool     // what is in the folder and not named stays there
	Before  []string // files that were sent already, as [Collected] has them in Sent: they are not sent again
	Already int      // how many files went ahead of the answer, of those that go with one
	Private bool     // the chat is the owner's alone: elsewhere the owner's memory and the files of other chats are not sent
	Voice   bool     // sound is sent as a voice message where the chat takes one
	Limits  []chat.MediaLimit
}

// Collected is what goes with an answer.
type Collected struct {
	Media    []chat.Media
	Sent     []string // what Media was, by names that tell each file from any other, and from a later one in its place
	By       []int    // for each of Media which of the paths named it first; -1: it lay in the folder
	Problems []string // a sentence each, fit for the chat
	// Files are those of the conversation's folder that these two deal with. They must be known to the [Ledger] by the time that
	// the answer is durable, and given to [Outgoing.Clear] then.
	Files []domain.OutgoingFile
}

// Collect takes the files that go with an answer into the media store of its channel: those at the paths that the agent
// named, each within the workspace or an address of the web, then those in the conversation's folder, by name, that no answer
// has dealt with. They are copies, so that the agent may change its own and the plugin can still download what was meant. What
// limits do not admit is sent as a plainer kind, or not at all. What is too much stays in the folder, for the next answer. All that
// comes of the web has a minute; where ctx ends nothing more comes of it, and the files of the workspace are taken all the same.
//
// It may be called again for the same answer: what was taken before and is in no message is forgotten with time. An error, which is
// an [*agent.Failure], says that the files cannot be taken for now; then none is.
func (o *Outgoing) Collect(ctx context.Context, w Wanted) (Collected, error) {
	root, err := os.OpenRoot(o.workspace)
	if err != nil {
		if failure := missing(err); failure != nil {
			return Collected{}, failure
		}
		o.log.Error("look for outgoing files", "error", err)
		return Collected{Problems: []string{wording.FilesFailed}}, nil
	}
	defer root.Close()
	c := &collection{Outgoing: o, Wanted: w, root: root, own: Folder(w.Session)}
	web, cancel := context.WithTimeout(ctx, o.webTime)
	defer cancel()
	ctx = context.WithoutCancel(ctx)
	for i, path := range w.Paths {
		if c.missing != nil {
			break
		}
		c.named(ctx, web, path)
		c.namedBy(i)
	}
	if !w.Named && c.missing == nil {
		c.folder(ctx)
		c.namedBy(-1)
	}
	if c.missing != nil {
		for _, m := range c.Media {
			c.files.drop(c.Channel, m.Ref)
		}
		return Collected{}, c.missing
	}
	if len(c.Problems) > maxProblems {
		c.Problems = append(c.Problems[:maxProblems], wording.FileProblems(len(c.Problems)-maxProblems))
	}
	if c.beyond > 0 {
		c.problem(wording.FilesBeyond(c.beyond, maxFiles))
	}
	if c.waiting > 0 {
		c.problem(wording.FilesLater(c.waiting, maxFiles))
	}
	return c.Collected, nil
}

// collection is what goes with one answer.
type collection struct {
	*Outgoing
	Wanted
	Collected

	root *os.Root
	own  string // the conversation's folder

	looked  []looked // at the agent's own files, so that none is sent twice
	fetched []string
	beyond  int            // how many are too many
	waiting int            // how many of the folder are
	missing *agent.Failure // what could not be taken for now
}

// namedBy notes which of the paths named what was taken since.
func (c *collection) namedBy(path int) {
	for len(c.By) < len(c.Media) {
		c.By = append(c.By, path)
	}
}

// looked is a file that was looked at.
type looked struct {
	info fs.FileInfo
	fate fate
}

// fate is what becomes of a file.
type fate int

const (
	kept fate = iota // it is as it was: another answer may send it
	told             // the chat is told why it is not sent
	sent
)

// problem tells the chat why a file is not sent.
func (c *collection) problem(text string) fate {
	if !slices.Contains(c.Problems, text) {
		c.Problems = append(c.Problems, text)
	}
	return told
}

// scheme is the beginning of an address.
var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// named takes what the agent named. Web is the context of what comes from there.
func (c *collection) named(ctx, web context.Context, path string) {
	path = strings.TrimSpace(path)
	kind := strings.ToLower(strings.TrimSuffix(scheme.FindString(path), ":"))
	switch kind {
	case "http", "https":
		if !c.fetches || len(c.Limits) == 0 {
			c.problem(wording.NoFilesOfWeb)
			return
		}
		c.fetch(ctx, web, path)
		return
	case "data":
		c.problem(wording.NoDataFiles)
		return
	}
	found, err := local(c.workspace, path)
	if err == nil && !c.Private && others(found, c.own) {
		err = errPrivate
	}
	if err != nil {
		c.unsent(filepath.Base(path), err)
		return
	}
	c.open(ctx, found)
}

// open takes a file of the workspace.
func (c *collection) open(ctx context.Context, path string) fate {
	name := filepath.Base(path)
	file, info, err := openFile(c.root, path)
	if errors.Is(err, errMissing) && slices.ContainsFunc(c.Before, func(id string) bool { return strings.HasPrefix(id, path+" ") }) {
		return sent // and then taken away
	}
	if err != nil {
		return c.unsent(name, err)
	}
	defer file.Close()
	if i := slices.IndexFunc(c.looked, func(l looked) bool { return os.SameFile(l.info, info) }); i >= 0 {
		return c.looked[i].fate
	}
	hosts, err := c.private.has(file, info)
	if hosts {
		err = errOwn
	}
	fate, id := kept, path+" "+version(info)
	switch {
	case err != nil:
		fate = c.unsent(name, err)
	case slices.Contains(c.Before, id):
		fate = sent
	case c.Already+len(c.Media) < maxFiles:
		fate = c.take(ctx, name, id, chat.Media{FileName: name}, file, info.Size())
	case c.inFolder(path):
		c.waiting++
	default:
		c.beyond++
	}
	c.looked = append(c.looked, looked{info, fate})
	if c.Named && fate == sent && c.inFolder(path) {
		c.Files = append(c.Files, domain.OutgoingFile{Folder: c.own, Name: name, Version: version(info), Sent: true})
	}
	return fate
}

// fetch takes a file of the web.
func (c *collection) fetch(ctx, web context.Context, address string) {
	if slices.Contains(c.fetched, address) || slices.Contains(c.Before, address) {
		return
	}
	c.fetched = append(c.fetched, address)
	if c.Already+len(c.Media) >= maxFiles {
		c.beyond++
		return
	}
	name := wording.FileAt("")
	if u, err := url.Parse(address); err == nil {
		name = wording.FileAt(u.Hostname())
	}
	if web.Err() != nil {
		c.unsent(name, errTooLate)
		return
	}
	found, err := c.web.get(web, address)
	if err != nil {
		c.unsent(name, err)
		return
	}
	defer found.Close()
	c.take(ctx, name, address, found.claim, found, found.size)
}

// take copies a file to the host's own and adds it, if the chat takes it. Its id is for those that were sent. A size of -1 is
// not known.
func (c *collection) take(ctx context.Context, name, id string, claim chat.Media, content io.Reader, size int64) fate {
	most := largest(c.Limits)
	switch {
	case most == 0:
		return c.problem(wording.FileNotTaken(shown(name), "files"))
	case size == 0:
		return c.problem(wording.FileEmpty(shown(name)))
	case size > most:
		return c.tooLarge(name, size, most)
	}
	m, err := c.files.receive(c.Channel, claim, content, most)
	switch {
	case errors.Is(err, ErrTooLarge):
		return c.tooLarge(name, 0, most)
	case err != nil:
		return c.unsent(name, plainly(err))
	}
	if fate := c.admit(name, &m); fate != sent {
		c.files.drop(c.Channel, m.Ref)
		return fate
	}
	if err := c.files.note(ctx, c.Channel, m); err != nil {
		return c.unsent(name, err)
	}
	c.Media, c.Sent = append(c.Media, m), append(c.Sent, id)
	return sent
}

// admit makes a file one of a kind that the chat takes.
func (c *collection) admit(name string, m *chat.Media) fate {
	if c.Voice && m.Kind == chat.Audio {
		m.Kind = chat.Voice
	}
	kind, most := fit(*m, c.Limits)
	switch {
	case m.Size == 0:
		return c.problem(wording.FileEmpty(shown(name)))
	case kind != 0:
		m.Kind = kind
		if m.FileName == "" {
			m.FileName = "file" + ending(m.MIMEType)
		}
		return sent
	case most == 0:
		return c.problem(wording.FileNotTaken(shown(name), plural(m.Kind)))
	default:
		return c.tooLarge(name, m.Size, most)
	}
}

// tooLarge says that a file is. A size of zero is not known.
func (c *collection) tooLarge(name string, size, most int64) fate {
	if size > 0 {
		return c.problem(wording.FileTooLarge(shown(name), megabytes(size), megabytes(most)))
	}
	return c.problem(wording.FileTooLarge(shown(name), "", megabytes(most)))
}

// unsent says why a file is not sent. What the chat cannot use is for the log, and may be no more than a moment's trouble.
func (c *collection) unsent(name string, err error) fate {
	var why reason
	if errors.As(err, &why) {
		return c.problem(wording.FileNotSent(shown(name), why))
	}
	if failure := missing(err); failure != nil {
		c.missing = failure
		return kept
	}
	c.complaints.warn("a file of the agent's is not sent", "channel", c.Channel, "error", err)
	c.problem(wording.FileUnreadable(shown(name)))
	return kept
}
