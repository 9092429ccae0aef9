package web

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

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// fetchTime limits fetching one file, including redirects.
	fetchTime = 30 * time.Second
	redirects = 5
)

// Fetcher fetches files from the public web.
type Fetcher struct {
	guard  Guard
	client *http.Client
}

// NewFetcher returns a fetcher. It uses no proxy, so that the address that is connected to is the one that is checked.
func NewFetcher(g Guard) *Fetcher {
	names, _ := g.Resolver.(*net.Resolver) // nil: the system's
	dialer := net.Dialer{
		Timeout: 10 * time.Second, Resolver: names,
		Control: func(_, address string, _ syscall.RawConn) error { return g.dialled(address) },
	}
	return &Fetcher{guard: g, client: &http.Client{
		Timeout: fetchTime,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > redirects {
				return wording.AddressEndless
			}
			_, err := g.form(r.URL.String())
			return err
		},
	}}
}

// File is a file from the web that is being read. The errors of reading it are those of [Fetcher.Get].
type File struct {
	io.ReadCloser
	Claim chat.Media // according to its server
	Size  int64      // -1: unknown
	from  *url.URL   // after redirects
}

// Read implements io.Reader.
func (f File) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	return n, plainly(err)
}

// Get starts to fetch a file. The error is a [wording.Reason] if there is one for people.
func (f *Fetcher) Get(ctx context.Context, address string) (File, error) {
	u, err := f.guard.check(ctx, address)
	if err != nil {
		return File{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return File{}, wording.AddressNotWeb
	}
	request.Header.Set("User-Agent", "clawhost")
	response, err := f.client.Do(request)
	if err != nil {
		return File{}, plainly(err)
	}
	if response.StatusCode != http.StatusOK {
		return File{}, errors.Join(wording.AddressStatus(response.StatusCode), response.Body.Close())
	}
	return File{
		response.Body,
		chat.Media{MIMEType: response.Header.Get("Content-Type"), FileName: fileNameOf(response)},
		response.ContentLength, response.Request.URL,
	}, nil
}

// plainly returns a web error without the address, which may contain a secret.
func plainly(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return wording.AddressTooLate
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
