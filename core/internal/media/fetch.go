package media

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// fetchTime limits fetching one file, including redirects.
	fetchTime = 30 * time.Second
	redirects = 5
)

// fetcher fetches files from the public web.
type fetcher struct {
	guard  guard
	client *http.Client
}

// newFetcher returns a fetcher. It uses no proxy, so that the address that is connected to is the one that is checked.
func newFetcher(g guard) fetcher {
	names, _ := g.resolver.(*net.Resolver) // nil: the system's
	dialer := net.Dialer{
		Timeout: 10 * time.Second, Resolver: names,
		Control: func(_, address string, _ syscall.RawConn) error { return g.dialled(address) },
	}
	return fetcher{guard: g, client: &http.Client{
		Timeout: fetchTime,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > redirects {
				return errEndless
			}
			_, err := g.form(r.URL.String())
			return err
		},
	}}
}

// fetched is a file from the web that is being read.
type fetched struct {
	io.ReadCloser
	claim chat.Media // according to its server
	size  int64      // -1: unknown
	from  *url.URL   // after redirects
}

// get starts to fetch a file.
func (f fetcher) get(ctx context.Context, address string) (fetched, error) {
	u, err := f.guard.check(ctx, address)
	if err != nil {
		return fetched{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fetched{}, errNotWeb
	}
	request.Header.Set("User-Agent", "clawhost")
	response, err := f.client.Do(request)
	if err != nil {
		return fetched{}, plainly(err)
	}
	if response.StatusCode != http.StatusOK {
		return fetched{}, errors.Join(reason(wording.AddressStatus(response.StatusCode)), response.Body.Close())
	}
	return fetched{response.Body, chat.Media{MIMEType: response.Header.Get("Content-Type"), FileName: fileNameOf(response)}, response.ContentLength, response.Request.URL}, nil
}

// plainly returns a web error without the address, which may contain a secret.
func plainly(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errTooLate
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// fileNameOf returns the server's name for the file, or the last part of its address.
func fileNameOf(r *http.Response) string {
	if _, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Disposition")); err == nil && parameters["filename"] != "" {
		return parameters["filename"]
	}
	if name := path.Base(r.Request.URL.Path); name != "/" && name != "." {
		return name
	}
	return ""
}
