package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/html/charset"

	"github.com/clawhost/clawhost/core/internal/base/budget"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxHTML limits a page that the host fetches, in bytes, uncompressed.
	maxHTML = 1 << 20
	// MaxPage limits the part of a page that the agent reads, in bytes. One more byte is read, by which a longer one is known.
	MaxPage = 8 << 10
)

// Options configure how pages are read.
type Options struct {
	Fetcher  *Fetcher
	Programs program.Runner
	// Command prints a page's text, with {url} for its address; empty: none.
	Command []string
	// Fetch has pages fetched by the host itself where there is no command, for people who may use commands.
	Fetch bool
	// Self is the path of this process's program. With [PageCommand] as its argument it must call [ReadPage].
	Self    string
	Timeout time.Duration
}

// Pages reads linked pages. It is safe for concurrent use.
type Pages struct {
	options  Options
	warnings *budget.Warnings
}

// NewPages returns a reader of pages.
func NewPages(options Options, log hclog.Logger) *Pages {
	return &Pages{options: options, warnings: budget.NewWarnings(log, "files and pages")}
}

// Links returns the links of a text that are read for a person with this authority.
func (p *Pages) Links(text string, authority chat.Authority) []string {
	if len(p.options.Command) == 0 && (!p.options.Fetch || authority < chat.Authorised) {
		return nil
	}
	return Links(text)
}

// Read reads the beginning of a linked page. Message authors choose the address, so non-public ones are refused. A failure is described
// in the result; the error has its details for the log.
func (p *Pages) Read(ctx context.Context, address string) (domain.Extract, error) {
	if len(p.options.Command) == 0 {
		return p.fetch(ctx, address)
	}
	u, err := p.options.Fetcher.guard.check(ctx, address)
	if err != nil {
		return domain.Extract{Failure: fmt.Sprintf("%s, so it was not read", err)}, nil
	}
	dir, remove, err := p.options.Programs.Folder()
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, err
	}
	defer remove()
	text, err := p.options.Programs.Run(ctx, dir, program.Run{
		Command: p.options.Command, Values: []string{"{url}", unexpanded(u)}, Most: MaxPage + 1, Timeout: p.options.Timeout,
	})
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, fmt.Errorf("read a page of %s: %w", u.Hostname(), err)
	}
	return domain.Extract{Text: strings.TrimSpace(text)}, nil
}

// fetch reads a page without a command of the operator.
func (p *Pages) fetch(ctx context.Context, address string) (domain.Extract, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	page, err := p.options.Fetcher.page(ctx, address)
	var text string
	switch {
	case err != nil:
	case page.html:
		text, err = p.article(ctx, page)
	default:
		text, err = page.plain()
	}
	var why wording.Reason
	if errors.As(plainly(err), &why) {
		return domain.Extract{Failure: fmt.Sprintf("%s, so it was not read", why)}, nil
	}
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, fmt.Errorf("read a page: %w", plainly(err))
	}
	return domain.Extract{Text: text}, nil
}

// page is the content of a page.
type page struct {
	from    *url.URL
	content io.Reader // in UTF-8
	html    bool
}

// page fetches a page. The error is a [wording.Reason] if it is of a type without text.
func (f *Fetcher) page(ctx context.Context, address string) (page, error) {
	got, err := f.Get(ctx, address)
	if err != nil {
		return page{}, err
	}
	defer got.Close()
	content, err := io.ReadAll(io.LimitReader(got, maxHTML))
	if err != nil {
		return page{}, err
	}
	claim := got.Claim.MIMEType
	kind, _, err := mime.ParseMediaType(claim)
	if err != nil {
		claim = http.DetectContentType(content)
		kind, _, _ = strings.Cut(claim, ";")
	}
	p := page{from: got.from, content: decoded(content, claim)}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		p.html = true
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml",
		strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
	default:
		return page{}, wording.AddressType(kind)
	}
	return p, nil
}

// decoded returns a page's content in UTF-8. The server's claim and the beginning of the content determine its encoding.
func decoded(content []byte, claim string) io.Reader {
	encoding, _, _ := charset.DetermineEncoding(content, claim)
	return encoding.NewDecoder().Reader(bytes.NewReader(content))
}

// plain returns the beginning of the content of a page that is not HTML.
func (p page) plain() (string, error) {
	text, err := io.ReadAll(io.LimitReader(p.content, MaxPage+1))
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "")), err
}

// article returns the beginning of an HTML page's title and text, which a separate process extracts; see [ReadPage].
func (p *Pages) article(ctx context.Context, found page) (string, error) {
	dir, remove, err := p.options.Programs.Folder()
	if err != nil {
		return "", err
	}
	defer remove()
	text, err := p.options.Programs.Run(ctx, dir, program.Run{
		Command: []string{"clawhost", PageCommand}, Path: p.options.Self, Timeout: p.options.Timeout, Most: MaxPage + 1,
		Input: io.MultiReader(strings.NewReader(found.from.String()+"\n"), found.content),
	})
	if err != nil && ctx.Err() == nil {
		p.warnings.Warn("a page cannot be parsed", "host", found.from.Hostname(), "error", err)
		return "", wording.AddressMalformed
	}
	return text, err
}
