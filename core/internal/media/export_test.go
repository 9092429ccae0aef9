package media

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/netip"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits.
const (
	KeptFor    = keptFor
	MaxPage    = maxPage
	MaxHTML    = maxHTML
	PageCPU    = pageCPU
	PageMemory = pageMemory
)

// ReadPageWithin reads a page as [ReadPage] does, within other limits.
func ReadPageWithin(in io.Reader, out io.Writer, cpu time.Duration, memory int64) error {
	return readPage(in, out, cpu, memory)
}

// Settle describes a file by its content.
func Settle(claim chat.Media, content []byte) (chat.Media, error) {
	return settle(claim, bytes.NewReader(content), int64(len(content)))
}

// Plain reads a page that is not HTML, and decodes all of it.
func Plain(content []byte, claim string) error {
	_, err := io.Copy(io.Discard, decoded(content, claim))
	return err
}

// Public reports whether an address is on the public internet.
func Public(a netip.Addr) bool { return public(a) }

// Sniff tells a type by a file's beginning.
func Sniff(head []byte) string { return sniff(head) }

// CleanName makes a name fit to be shown.
func CleanName(name string) string { return cleanName(name) }

// Megabytes writes a size.
func Megabytes(bytes int64) string { return megabytes(bytes) }

// Local makes a path that the agent names one relative to the workspace.
func Local(workspace, path string) (string, error) { return local(workspace, path) }

// Version tells a file from a later one of its name.
func Version(info fs.FileInfo) string { return version(info) }

// Neighbours is a web in which this machine is public, too, at any port, and of which a resolver tells.
type Neighbours func(ctx context.Context, host string) ([]netip.Addr, error)

// LookupNetIP implements resolver.
func (n Neighbours) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	return n(ctx, host)
}

func (n Neighbours) guard(port string) guard {
	g := n.strict(port)
	g.besides = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	return g
}

// strict is the guard of a web in which this machine is none of the public.
func (n Neighbours) strict(port string) guard {
	g := newGuard()
	g.ports, g.resolver = append(g.ports, port), n
	return g
}

// NewOutgoingAmong returns outgoing files that may come from this machine at a port.
func NewOutgoingAmong(n Neighbours, port string, files *Files, workspace string) *Outgoing {
	return newOutgoing(OutgoingOptions{Files: files, Workspace: workspace, Fetches: true}, n.guard(port), hclog.NewNullLogger())
}

// Hasty has the files of the web of one answer take no longer than that.
func (o *Outgoing) Hasty(most time.Duration) *Outgoing {
	o.webTime = most
	return o
}

// NewOutgoingMoving returns outgoing files whose names resolve to something else as they are checked.
func NewOutgoingMoving(n Neighbours, port string, files *Files, workspace string) *Outgoing {
	return newOutgoing(OutgoingOptions{Files: files, Workspace: workspace, Fetches: true}, n.strict(port), hclog.NewNullLogger())
}

// Links returns the links of a text that are read.
func Links(text string) []string { return links(text) }

// NewReaderAmong returns a reader of links to hosts that a resolver of the test tells of.
func NewReaderAmong(n Neighbours, options ReaderOptions) *Reader {
	return newReader(options, n.strict("8443"), hclog.NewNullLogger())
}

// NewPagesAmong returns a reader of pages that may come from this machine at a port.
func NewPagesAmong(n Neighbours, port string, options ReaderOptions) *Reader {
	return newReader(options, n.guard(port), hclog.NewNullLogger())
}
