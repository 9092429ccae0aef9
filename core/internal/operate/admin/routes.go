package admin

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	maxRouted  = 16               // requests that plugins answer at the same time; further ones wait
	routedWait = 5 * time.Second  // for a place among them
	routedTime = 10 * time.Second // to send the body
)

// sandbox keeps a page of a plugin from acting as the host's own: its scripts run in an origin of their own.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-downloads"

// ofConnection are the headers that belong to one connection. Neither a plugin nor a client gets those of the other side.
var ofConnection = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Length",
}

// ofOrigin are the headers of a response that act on the host's whole address.
var ofOrigin = []string{"Set-Cookie", "Clear-Site-Data", "Strict-Transport-Security", "Public-Key-Pins", "Service-Worker-Allowed"}

// routed has plugins answer the requests below /plugins/NAME/. Nobody is asked for the token: the plugin checks who sends them.
func (s *Server) routed(open *connections) http.Handler {
	places := make(chan struct{}, maxRouted)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		entry := s.options.Host.Plugins.Entry(name)
		if entry == nil || !entry.Config().ServeHTTP {
			refuse(w, http.StatusNotFound, "no plugin is served here")
			return
		}
		late := time.NewTimer(routedWait)
		defer late.Stop()
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-late.C:
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "too many requests at the same time; try again later")
			return
		case <-r.Context().Done():
			return
		}
		if c, _ := open.of(r); c != nil {
			open.setBusy(c, true)
			defer open.setBusy(c, false)
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(routedTime))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBody))
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			refuse(w, http.StatusRequestEntityTooLarge, "the body is too large")
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, "the body could not be read")
			return
		}
		p, err := s.served(name, remote.HTTP, "answers no requests by HTTP")
		var response remote.HTTPResponse
		if err == nil {
			response, err = p.ServeHTTP(r.Context(), s.request(r, name, body))
		}
		if err != nil {
			if r.Context().Err() == nil {
				s.log.Warn("a plugin did not answer a request by HTTP", "plugin", name, "error", err)
			}
			w.Header().Set("Retry-After", "10")
			refuse(w, http.StatusServiceUnavailable, "the plugin does not answer; try again later")
			return
		}
		respond(w, response)
	})
}

// request is a request as its plugin sees it.
func (s *Server) request(r *http.Request, plugin string, body []byte) remote.HTTPRequest {
	header := r.Header.Clone()
	for _, name := range slices.Concat(ofConnection, strings.Split(r.Header.Get("Connection"), ",")) {
		header.Del(strings.TrimSpace(name))
	}
	header.Del("Cookie")
	if _, token, _ := strings.Cut(header.Get("Authorization"), " "); s.isToken(strings.TrimSpace(token)) {
		header.Del("Authorization")
	}
	return remote.HTTPRequest{
		Method: r.Method, Host: r.Host, Path: strings.TrimPrefix(r.URL.EscapedPath(), "/plugins/"+plugin), Query: r.URL.RawQuery,
		Header: header, Body: body, Address: r.RemoteAddr,
	}
}

// respond writes a plugin's response.
func respond(w http.ResponseWriter, r remote.HTTPResponse) {
	h := w.Header()
	maps.Copy(h, r.Header)
	for _, name := range slices.Concat(ofConnection, ofOrigin) {
		h.Del(name)
	}
	h.Set("Connection", "close")
	h.Add("Content-Security-Policy", sandbox)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body)
}
