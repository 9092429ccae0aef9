package media

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

	"golang.org/x/net/html/charset"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// maxHTML limits a page that the host fetches, in bytes, uncompressed.
const maxHTML = 1 << 20

// fetchPage reads a linked page without a command of the operator.
func (r *Reader) fetchPage(ctx context.Context, address string) (domain.Extract, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.LinksTimeout)
	defer cancel()
	page, err := r.web.page(ctx, address)
	var text string
	switch {
	case err != nil:
	case page.html:
		text, err = r.article(ctx, page)
	default:
		text, err = page.plain()
	}
	var why reason
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

// page fetches a page. The error is a [reason] if it is of a type without text.
func (f fetcher) page(ctx context.Context, address string) (page, error) {
	got, err := f.get(ctx, address)
	if err != nil {
		return page{}, err
	}
	defer got.Close()
	content, err := io.ReadAll(io.LimitReader(got, maxHTML))
	if err != nil {
		return page{}, err
	}
	claim := got.claim.MIMEType
	kind, _, err := mime.ParseMediaType(claim)
	if err != nil {
		claim = http.DetectContentType(content)
		kind, _, _ = strings.Cut(claim, ";")
	}
	p := page{from: got.from, content: decoded(content, claim)}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		p.html = true
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml", strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
	default:
		return page{}, reason(wording.AddressType(kind))
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
	text, err := io.ReadAll(io.LimitReader(p.content, maxPage+1))
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "")), err
}

// article returns the beginning of an HTML page's title and text, which a separate process extracts; see [ReadPage].
func (r *Reader) article(ctx context.Context, p page) (string, error) {
	dir, remove, err := programFolder(r.options.Dir)
	if err != nil {
		return "", err
	}
	defer remove()
	text, err := r.pages.run(ctx, dir, task{input: io.MultiReader(strings.NewReader(p.from.String()+"\n"), p.content), most: maxPage + 1})
	if err != nil && ctx.Err() == nil {
		r.complaints.warn("a page cannot be parsed", "host", p.from.Hostname(), "error", err)
		return "", reason(wording.AddressMalformed)
	}
	return text, err
}
