package media

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// outboundDir is the folder of the workspace that has a folder for each conversation, in which the agent may put files to be
	// sent.
	outboundDir = "outbound"
	// maxFiles is how many files go with one answer.
	maxFiles = 10
	// maxProblems is how many of the files that are not sent are told one by one.
	maxProblems = 5
	// maxEntries is how many entries of a conversation's folder are looked at.
	maxEntries = 200
	// webTime bounds the fetching of all files of one answer: the answer waits for it.
	webTime = time.Minute
)

// Outgoing takes the files that the agent sends with an answer. It is safe for concurrent use.
type Outgoing struct {
	files     *Files
	workspace string
	web       fetcher
	fetches   bool // files of the web, too
	webTime   time.Duration
	log       hclog.Logger
}

// NewOutgoing returns the outgoing files of a workspace. Fetches says that files of the web, which the agent names by their
// addresses, are sent, too: an address can carry something out.
func NewOutgoing(files *Files, workspace string, fetches bool, log hclog.Logger) *Outgoing {
	return newOutgoing(files, workspace, fetches, newGuard(), log)
}

func newOutgoing(files *Files, workspace string, fetches bool, g guard, log hclog.Logger) *Outgoing {
	return &Outgoing{files: files, workspace: workspace, fetches: fetches, web: newFetcher(g), webTime: webTime, log: log}
}

// sessionForm is what names a conversation: the uuid of its claude session.
var sessionForm = regexp.MustCompile(`^[0-9a-f-]{8,36}$`)

// Folder is a conversation's folder, relative to the workspace. "": it has no name that could be one.
func Folder(session string) string {
	if !sessionForm.MatchString(session) {
		return ""
	}
	name := strings.ReplaceAll(session, "-", "")
	return filepath.Join(outboundDir, name[:min(len(name), 12)])
}

// Open makes a conversation's folder and returns its path as the agent is told it, relative to the workspace.
func (o *Outgoing) Open(session string) (string, error) {
	folder := Folder(session)
	if folder == "" {
		return "", fmt.Errorf("make the folder of outgoing files: %q names no conversation", session)
	}
	root, err := os.OpenRoot(o.workspace) // the agent can make links there
	if err != nil {
		return "", fmt.Errorf("make the folder of outgoing files: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of outgoing files: %w", err)
	}
	return folder, nil
}

// Sent empties a conversation's folder, once what was in it is on its way.
func (o *Outgoing) Sent(session string) error {
	folder := Folder(session)
	if folder == "" {
		return nil
	}
	root, err := os.OpenRoot(o.workspace)
	if err != nil {
		return fmt.Errorf("empty the folder of outgoing files: %w", err)
	}
	defer root.Close()
	names, err := entries(root, folder)
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, root.RemoveAll(filepath.Join(folder, name)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("empty the folder of outgoing files: %w", err)
	}
	return nil
}

// Forget removes the folders of conversations of long ago.
func (o *Outgoing) Forget() error { return forgetOld(o.workspace, outboundDir, fs.FileInfo.IsDir) }

// Collect takes the files that go with an answer into the media store of its channel: those at the paths that the agent
// named, each within the workspace or an address of the web, then those in the conversation's folder, by name. They are copies, so that
// the agent may change its own and the plugin can still download what was meant. What limits do not admit is sent as a
// plainer kind, or not at all; problems says so in a sentence each, fit for the chat. All that comes of the web has a minute;
// where ctx ends nothing more comes of it, and the files of the workspace are taken all the same.
//
// Private says that the chat is the owner's alone: elsewhere the owner's memory and the files of other chats are not sent.
//
// It may be called again for the same answer: what was taken before and is in no message is forgotten with time.
func (o *Outgoing) Collect(ctx context.Context, channel string, paths []string, session string, private bool, limits []chat.MediaLimit) (media []chat.Media, problems []string) {
	root, err := os.OpenRoot(o.workspace)
	if err != nil {
		o.log.Error("look for outgoing files", "error", err)
		return nil, []string{"The files could not be sent. The host's log says why."}
	}
	defer root.Close()
	c := &collection{Outgoing: o, root: root, channel: channel, limits: limits, own: Folder(session), private: private}
	web, cancel := context.WithTimeout(ctx, o.webTime)
	defer cancel()
	ctx = context.WithoutCancel(ctx)
	for _, path := range paths {
		c.named(ctx, web, path)
	}
	c.folder(ctx, Folder(session))
	if len(c.problems) > maxProblems {
		c.problems = append(c.problems[:maxProblems], fmt.Sprintf("There were problems with %d more files.", len(c.problems)-maxProblems))
	}
	switch {
	case c.beyond == 1:
		c.problem("One more file was not sent: an answer takes %d.", maxFiles)
	case c.beyond > 1:
		c.problem("%d more files were not sent: an answer takes %d.", c.beyond, maxFiles)
	}
	return c.media, c.problems
}

// collection is what goes with one answer.
type collection struct {
	*Outgoing
	root    *os.Root
	channel string
	limits  []chat.MediaLimit
	own     string // the conversation's folder
	private bool   // the owner's memory and the files of other chats may be sent

	taken    []fs.FileInfo // the agent's own files, so that none is sent twice
	fetched  []string
	beyond   int // how many are too many
	media    []chat.Media
	problems []string
}

func (c *collection) problem(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.problems, text) {
		c.problems = append(c.problems, text)
	}
}

// scheme is the beginning of an address.
var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// named takes what the agent named. Web is the context of what comes from there.
func (c *collection) named(ctx, web context.Context, path string) {
	path = strings.TrimSpace(path)
	kind := strings.ToLower(strings.TrimSuffix(scheme.FindString(path), ":"))
	switch kind {
	case "http", "https":
		if !c.fetches || len(c.limits) == 0 {
			c.problem("Files of the web are not sent from here.")
			return
		}
		c.fetch(ctx, web, path)
		return
	case "data":
		c.problem("A file that is written into the answer itself (data:) is not sent.")
		return
	}
	found, err := local(c.workspace, path)
	if err == nil && !c.private && others(found, c.own) {
		err = errPrivate
	}
	if err != nil {
		c.unsent(filepath.Base(path), err)
		return
	}
	c.open(ctx, found)
}

// others tells whether a path of the workspace is the owner's memory, or of other chats than the one whose own folder is given.
func others(path, own string) bool {
	if own != "" && strings.HasPrefix(path, own+string(filepath.Separator)) {
		return false
	}
	first, _, _ := strings.Cut(path, string(filepath.Separator))
	return slices.ContainsFunc([]string{"MEMORY.md", "memory", inboundDir, outboundDir}, func(name string) bool { return strings.EqualFold(first, name) })
}

// entries are what is in a folder, by name; nothing if it is not there, or one of the agent's making leads elsewhere.
func entries(root *os.Root, folder string) ([]string, error) {
	for dir := folder; dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return nil, nil
		}
	}
	dir, err := openDir(root, folder)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// folder takes what the agent has put into the conversation's folder. What begins with a dot is left.
func (c *collection) folder(ctx context.Context, folder string) {
	if folder == "" {
		return
	}
	names, err := entries(c.root, folder)
	if err != nil {
		c.log.Warn("look for outgoing files", "error", err)
		return
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(folder, name)
		if info, err := c.root.Lstat(path); err == nil && info.IsDir() {
			c.problem("%s is a folder; only the files beside it are sent.", shown(name))
			continue
		}
		c.open(ctx, path)
	}
}

// open takes a file of the workspace.
func (c *collection) open(ctx context.Context, path string) {
	name := filepath.Base(path)
	file, info, err := openFile(c.root, path)
	if err != nil {
		c.unsent(name, err)
		return
	}
	defer file.Close()
	if slices.ContainsFunc(c.taken, func(other fs.FileInfo) bool { return os.SameFile(other, info) }) {
		return
	}
	c.taken = append(c.taken, info)
	c.take(ctx, name, chat.Media{FileName: name}, file, info.Size())
}

// fetch takes a file of the web.
func (c *collection) fetch(ctx, web context.Context, address string) {
	if slices.Contains(c.fetched, address) {
		return
	}
	c.fetched = append(c.fetched, address)
	if len(c.media) == maxFiles {
		c.beyond++
		return
	}
	name := "The file"
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		name += " at " + u.Hostname()
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
	c.take(ctx, name, found.claim, found, found.size)
}

// take copies a file to the host's own and adds it, if the chat takes it. A size of -1 is not known.
func (c *collection) take(ctx context.Context, name string, claim chat.Media, content io.Reader, size int64) {
	most := largest(c.limits)
	switch {
	case len(c.media) == maxFiles:
		c.beyond++
		return
	case most == 0:
		c.problem("%s was not sent: this chat takes no files.", shown(name))
		return
	case size == 0:
		c.problem("%s is empty, so it was not sent.", shown(name))
		return
	case size > most:
		c.tooLarge(name, size, most)
		return
	}
	m, err := c.files.receive(c.channel, claim, content, most)
	switch {
	case errors.Is(err, ErrTooLarge):
		c.tooLarge(name, 0, most)
		return
	case err != nil:
		c.unsent(name, plainly(err))
		return
	}
	if c.admit(name, &m) {
		if err := c.files.note(ctx, c.channel, m); err != nil {
			c.unsent(name, err)
			return
		}
		c.media = append(c.media, m)
		return
	}
	c.files.drop(c.channel, m.Ref)
}

// admit makes a file one of a kind that the chat takes.
func (c *collection) admit(name string, m *chat.Media) bool {
	kind, most := fit(*m, c.limits)
	switch {
	case m.Size == 0:
		c.problem("%s is empty, so it was not sent.", shown(name))
	case kind != 0:
		m.Kind = kind
		if m.FileName == "" {
			m.FileName = "file" + ending(m.MIMEType)
		}
		return true
	case most == 0:
		c.problem("%s was not sent: this chat takes no %s.", shown(name), plural(m.Kind))
	default:
		c.tooLarge(name, m.Size, most)
	}
	return false
}

// tooLarge says that a file is. A size of zero is not known.
func (c *collection) tooLarge(name string, size, most int64) {
	if size > 0 {
		c.problem("%s (%s) is larger than the %s that this chat takes.", shown(name), megabytes(size), megabytes(most))
		return
	}
	c.problem("%s is larger than the %s that this chat takes.", shown(name), megabytes(most))
}

// unsent says why a file is not sent. What the chat cannot use is for the log.
func (c *collection) unsent(name string, err error) {
	var why reason
	if !errors.As(err, &why) {
		c.log.Warn("a file of the agent's is not sent", "channel", c.channel, "error", err)
		why = "could not be read"
	}
	c.problem("%s %s, so it was not sent.", shown(name), why)
}
