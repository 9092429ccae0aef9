// Package banner shows the person who starts a host what it is and how to open it. The links are secrets, so it is no part of the log.
package banner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

const (
	// claudeWait is how long the banner waits to know how Claude Code is, which takes half a second.
	claudeWait = 10 * time.Second
	// networkWait is how long it waits after that for networks that do not answer yet.
	networkWait = 2 * time.Second
)

// Banner is shown once the host is ready. Links that come later are shown when they come.
type Banner struct {
	out  io.Writer
	host admin.Host

	mu    sync.Mutex
	shown bool
	links map[string]string // by plugin
}

// New returns a host's banner.
func New(out io.Writer, host admin.Host) *Banner {
	return &Banner{out: out, host: host, links: map[string]string{}}
}

// Show shows the banner, after waiting some seconds for what is not known yet. The host is ready when it is called.
func (b *Banner) Show(ctx context.Context) {
	if b.await(ctx); ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown = true
	s := b.host.Status()
	fmt.Fprintf(b.out, "\nclawhost %s is ready.\n\n", s.Version)
	rows := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(rows, "  config\t%s\n", b.host.Config.Get().Path)
	if cli := s.Claude.CLI(); cli != "" {
		fmt.Fprintf(rows, "  claude\t%s\n", line(cli))
	}
	for _, p := range s.Plugins {
		if p.State != "disabled" {
			fmt.Fprintf(rows, "  %s\t%s\n", p.Name, line(state(p)))
		}
	}
	_ = rows.Flush()
	if s.Demo {
		fmt.Fprintf(b.out, "\n%s\n", wording.DemoAnswers)
	}
	for _, l := range b.host.Links() {
		b.link(l.Name, l.Link)
	}
	fmt.Fprintln(b.out)
}

// await waits until it is known how Claude Code and the plugins are.
func (b *Banner) await(ctx context.Context) {
	claude, cancel := context.WithTimeout(ctx, claudeWait)
	defer cancel()
	select {
	case <-b.host.Claude.Inspected():
	case <-claude.Done():
	}
	networks, cancel := context.WithTimeout(ctx, networkWait)
	defer cancel()
	for changed := b.host.Plugins.Changed(); !b.host.Plugins.Steady(); changed = b.host.Plugins.Changed() {
		select {
		case <-changed:
		case <-networks.Done():
			return
		}
	}
}

// Opened shows the link of a plugin's page if the banner has not shown it.
func (b *Banner) Opened(name, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown && b.links[name] != url {
		b.link(name, url)
	}
}

// link shows a link alone on its line, where it is found and copied at once.
func (b *Banner) link(name, url string) {
	b.links[name] = url
	fmt.Fprintf(b.out, "\nOpen %s:\n%s\n", name, url)
}

// state describes a plugin in a line.
func state(p admin.Plugin) string {
	how := p.State
	if p.Connection != "" {
		how = p.Connection
	}
	return strings.TrimSuffix(how+": "+p.Detail, ": ")
}

// line makes a text that may be a plugin's safe to print.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
}
