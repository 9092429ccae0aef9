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

	"codeberg.org/readeck/go-readability/v2"
	"codeberg.org/readeck/go-readability/v2/render"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
)

// Bounds of a page that the host reads itself. The parser refuses elements that are nested more than 512 deep.
const (
	maxHTML     = 1 << 20 // bytes, uncompressed
	maxElements = 30_000
)

// fetchPage reads a linked page without a program.
func (r *Reader) fetchPage(ctx context.Context, address string) (domain.Extract, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.LinksTimeout)
	defer cancel()
	text, err := r.web.page(ctx, address)
	var why reason
	switch {
	case errors.As(err, &why):
		return domain.Extract{Failure: fmt.Sprintf("%s, so it was not read", why)}, nil
	case err != nil:
		return domain.Extract{Failure: "could not be read"}, fmt.Errorf("read a page: %w", err)
	}
	return domain.Extract{Text: text}, nil
}

// page returns the text of a page, or a [reason].
func (f fetcher) page(ctx context.Context, address string) (string, error) {
	page, err := f.get(ctx, address)
	if err != nil {
		return "", err
	}
	defer page.Close()
	content, err := io.ReadAll(io.LimitReader(page, maxHTML))
	if err != nil {
		return "", plainly(err)
	}
	claim := page.claim.MIMEType
	kind, _, err := mime.ParseMediaType(claim)
	if err != nil {
		claim = http.DetectContentType(content)
		kind, _, _ = strings.Cut(claim, ";")
	}
	encoding, _, _ := charset.DetermineEncoding(content, claim)
	decoded := encoding.NewDecoder().Reader(bytes.NewReader(content))
	text := ""
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		text, err = readable(decoded, page.from)
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml", strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		var all []byte
		all, err = io.ReadAll(io.LimitReader(decoded, maxPage+1))
		text = string(all)
	default:
		err = reason(wording.AddressType(kind))
	}
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), maxPage+1)], ""), err
}

// readable returns the title and the text of a page: only its article, if it has one.
func readable(content io.Reader, from *url.URL) (string, error) {
	page, err := html.Parse(content)
	if err != nil {
		return "", reason(wording.AddressMalformed)
	}
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	article, err := parser.ParseDocument(page, from)
	text := ""
	if err == nil && article.Node != nil {
		text = strings.TrimSpace(render.InnerText(article.Node))
	}
	if text == "" {
		text = render.InnerText(page)
	}
	return article.Title() + "\n\n" + text, nil
}
