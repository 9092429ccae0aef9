package web

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	"codeberg.org/readeck/go-readability/v2/render"
	"golang.org/x/net/html"

	"github.com/clawhost/clawhost/core/internal/base/process"
)

// Limits of the process that reads a page. The parser also refuses elements that are nested more than 512 deep.
const (
	pageCPU     = 2 * time.Second
	pageMemory  = 160 << 20 // bytes
	maxElements = 30_000
)

// PageCommand is the argument with which the host executes its own program to read a page.
const PageCommand = "read-page"

// ReadPage reads a line with the address of a page, and then the page's HTML in UTF-8. It writes the beginning of the title and
// text. It limits the whole process, because HTML can be made so that parsing it takes hours; so the process must do nothing
// else.
func ReadPage(in io.Reader, out io.Writer) error { return readPage(in, out, pageCPU, pageMemory) }

func readPage(in io.Reader, out io.Writer, cpu time.Duration, memory int64) error {
	if err := process.Limit(cpu, memory); err != nil {
		return err
	}
	content := bufio.NewReader(in)
	address, err := content.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read a page's address: %w", err)
	}
	from, err := url.Parse(strings.TrimSuffix(address, "\n"))
	if err != nil {
		return fmt.Errorf("read a page's address: %w", err)
	}
	text, err := readable(content, from)
	if err != nil {
		return fmt.Errorf("read a page: %w", err)
	}
	_, err = io.WriteString(out, text[:min(len(text), MaxPage+1)])
	return err
}

// readable returns the title and the text of a page, or only those of its article, if it has one.
func readable(content io.Reader, from *url.URL) (string, error) {
	page, err := html.Parse(content)
	if err != nil {
		return "", err
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
	return strings.TrimSpace(article.Title() + "\n\n" + text), nil
}
