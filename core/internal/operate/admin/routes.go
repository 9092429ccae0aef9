package admin

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/operate/page"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	maxRouted  = 8                // requests that a plugin answers at the same time; further ones wait
	routedWait = 5 * time.Second  // for a place among them
	bodyWait   = 10 * time.Second // to send the body
	maxBodies  = 64 << 20         // bytes of bodies in memory
	complain   = time.Minute      // the least time between two lines of the log about one plugin
)

// routesPath begins the paths of requests for plugins.
const routesPath = "/plugins/"

// sandbox keeps a page of a plugin from acting as the host's own: its scripts run in an origin of their own.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-downloads"

// ofConnection are the headers of a request that belong to its connection. A plugin does not get them.
var ofConnection = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Length",
}

// ofContent are the headers of a plugin's response that clients get, besides those of CORS and own ones. Others could act on all of the
// host's address.
var ofContent = []string{
	"Content-Type", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Security-Policy", "Cache-Control", "Etag",
	"Last-Modified", "Expires", "Location", "Retry-After", "Allow", "Vary", "Link", "Referrer-Policy",
}

// routes passes requests below /plugins/NAME/ on to plugins.
type routes struct {
	*Server
	open   *connections
	bodies atomic.Int64 // bytes of bodies in memory

	mu         sync.Mutex // guards the following, by the plugin's name
	places     map[string]chan struct{}
	complained map[string]time.Time
}

// routed has plugins answer the requests below /plugins/NAME/. Nobody is asked for the token: the plugin checks who sends them.
func (s *Server) routed(open *connections) http.Handler {
	return &routes{Server: s, open: open, places: map[string]chan struct{}{}, complained: map[string]time.Time{}}
}

// ServeHTTP implements [http.Handler].
func (rs *routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// While a request waits for its plugin, net/http reads from the connection to notice its end: a deadline would be one.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	name := r.PathValue("name")
	entry := rs.options.Host.Plugins.Entry(name)
	switch {
	case entry == nil || !entry.Config().ServeHTTP:
		refuse(w, http.StatusNotFound, "no plugin is served here")
		return
	case r.Method == http.MethodConnect, r.Method == http.MethodTrace:
		refuse(w, http.StatusMethodNotAllowed, "this method is not passed on")
		return
	}
	body := &metered{from: http.MaxBytesReader(w, r.Body, wire.MaxBody), all: &rs.bodies}
	defer body.release()
	if r.ContentLength != 0 {
		_ = control.SetReadDeadline(time.Now().Add(bodyWait))
	}
	content, err := io.ReadAll(body)
	_ = control.SetReadDeadline(time.Time{})
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		refuse(w, http.StatusRequestEntityTooLarge, "the body is too large")
		return
	case errors.Is(err, errBusy):
		tooBusy(w)
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "the body could not be read")
		return
	}
	if c, _ := rs.open.of(r); c != nil {
		rs.open.setBusy(c, true)
		defer rs.open.setBusy(c, false)
	}
	places, late := rs.placesOf(name), time.NewTimer(routedWait)
	defer late.Stop()
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-late.C:
		tooBusy(w)
		return
	case <-r.Context().Done():
		return
	}
	p, err := rs.served(name, remote.HTTP, "answers no requests by HTTP")
	var response remote.HTTPResponse
	if err == nil {
		response, err = p.ServeHTTP(r.Context(), rs.request(r, name, content))
	}
	if err != nil {
		if r.Context().Err() == nil && rs.mayComplain(name) {
			rs.log.Warn("a plugin does not answer requests by HTTP", "plugin", name, "error", err)
		}
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "the plugin does not answer; try again later")
		return
	}
	respond(w, name, response)
}

func tooBusy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "too many requests at the same time; try again later")
}

// placesOf has a value for each request that a plugin answers. The names are those of plugins in the config.
func (rs *routes) placesOf(plugin string) chan struct{} {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.places[plugin] == nil {
		rs.places[plugin] = make(chan struct{}, maxRouted)
	}
	return rs.places[plugin]
}

// mayComplain reports whether the log may have another line about a plugin.
func (rs *routes) mayComplain(plugin string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	now := time.Now()
	if now.Sub(rs.complained[plugin]) < complain {
		return false
	}
	rs.complained[plugin] = now
	return true
}

// errBusy ends a body for which there is no memory.
var errBusy = errors.New("too much is in memory")

// metered is a body that counts among all bodies in memory, as far as it was read.
type metered struct {
	from io.Reader
	all  *atomic.Int64
	read int64
}

// Read implements [io.Reader].
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.read += int64(n)
	if m.all.Add(int64(n)) > maxBodies {
		return n, errBusy
	}
	return n, err
}

func (m *metered) release() { m.all.Add(-m.read) }

// request is a request as its plugin sees it.
func (rs *routes) request(r *http.Request, plugin string, body []byte) remote.HTTPRequest {
	header := r.Header.Clone()
	for _, name := range slices.Concat(ofConnection, strings.Split(r.Header.Get("Connection"), ",")) {
		header.Del(strings.TrimSpace(name))
	}
	for _, own := range []string{"Cookie", page.Header} {
		header.Del(own)
	}
	if _, token, _ := strings.Cut(header.Get("Authorization"), " "); rs.isToken(strings.TrimSpace(token)) {
		header.Del("Authorization")
	}
	header.Set("X-Forwarded-Prefix", routesPath+plugin)
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/") // the first two parts may be encoded in other ways
	_, rest, _ = strings.Cut(rest, "/")
	return remote.HTTPRequest{
		Method: r.Method, Host: r.Host, Path: "/" + rest, Query: r.URL.RawQuery, Header: header, Body: body, Address: r.RemoteAddr,
	}
}

// respond writes a plugin's response.
func respond(w http.ResponseWriter, plugin string, r remote.HTTPResponse) {
	h := w.Header()
	for name, values := range r.Header {
		if passes(name) {
			h[name] = values
		}
	}
	if to := h.Get("Location"); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		h.Set("Location", routesPath+plugin+to)
	}
	h.Set("Connection", "close")
	h.Add("Content-Security-Policy", sandbox)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body)
}

// passes reports whether a client gets a header of a plugin's response.
func passes(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && (slices.Contains(ofContent, name) || strings.HasPrefix(name, "Access-Control-") ||
		strings.HasPrefix(name, "X-") && !strings.HasPrefix(name, "X-Accel-"))
}
