package outgoing_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/sdk/chat"
)

// web is a server of the tests, and outgoing files that may come from it.
func (b *bundle) web(t *testing.T, handler http.Handler) (*outgoing.Files, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	guard := within(neighbours, u.Port())
	guard.Besides = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	return b.fetching(guard), server.URL
}

// names are the addresses of hosts, as a resolver knows them.
type names func(host string) ([]netip.Addr, error)

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) { return n(host) }

// neighbours knows a few names.
func neighbours(host string) ([]netip.Addr, error) {
	switch host {
	case "here.test":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "both.test":
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("10.0.0.1")}, nil
	case "inner.test":
		return []netip.Addr{netip.MustParseAddr("192.168.1.1")}, nil
	}
	return nil, errors.New("no such host")
}

// within is the guard of a web with a resolver of the test, at a further port.
func within(resolver names, port string) web.Guard {
	g := web.NewGuard()
	g.Resolver, g.Ports = resolver, append(g.Ports, port)
	return g
}

// fetching returns outgoing files that may come from the web.
func (b *bundle) fetching(guard web.Guard) *outgoing.Files {
	return outgoing.New(outgoing.Options{Store: b.Store, Workspace: b.Workspace, Web: web.NewFetcher(guard)}, hclog.NewNullLogger())
}

// Behaviour: files-web, files-web-public.
func TestFilesOfTheWeb(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mux := http.NewServeMux()
	file := func(path, header string, content []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			if header != "" {
				w.Header().Set("Content-Disposition", header)
			}
			_, _ = w.Write(content)
		})
	}
	file("/a/cat.png", "", mediatest.Picture(t, "png"))
	file("/page", `attachment; filename="../../x/page.html"`, []byte("<html>"))
	file("/empty", "", nil)
	redirect := func(path, to string) { mux.Handle(path, http.RedirectHandler(to, http.StatusFound)) }
	redirect("/moved", "/a/cat.png")
	redirect("/inner", "http://10.0.0.1/")
	redirect("/meta", "http://169.254.169.254/latest/meta-data/")
	redirect("/six", "http://[::1]/")
	redirect("/file", "file:///etc/passwd")
	redirect("/odd", "http://127.0.0.1:22/")
	redirect("/login", "http://u:p@127.0.0.1/")
	redirect("/round", "/round")
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for chunk := make([]byte, 64<<10); r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	out, server := b.web(t, mux)
	for path, tc := range map[string]struct{ want, problem string }{
		"/a/cat.png": {want: "image cat.png (image/png)"},
		"/moved":     {want: "image cat.png (image/png)"},
		"/page":      {want: "file page.html (text/html)"},
		"/none":      {problem: "The file at 127.0.0.1 is not available (the server says 404), so it was not sent."},
		"/empty":     {problem: "The file at 127.0.0.1 is empty, so it was not sent."},
		"/inner":     {problem: "The file at 127.0.0.1 is not on the public internet, so it was not sent."},
		"/meta":      {problem: "The file at 127.0.0.1 is not on the public internet, so it was not sent."},
		"/six":       {problem: "The file at 127.0.0.1 is not on the public internet, so it was not sent."},
		"/file":      {problem: "The file at 127.0.0.1 is no address of the web, so it was not sent."},
		"/odd":       {problem: "The file at 127.0.0.1 is behind a port that is none of the web's, so it was not sent."},
		"/login":     {problem: "The file at 127.0.0.1 holds a login in its address, so it was not sent."},
		"/round":     {problem: "The file at 127.0.0.1 leads on and on, so it was not sent."},
		"/endless":   {problem: "The file at 127.0.0.1 is larger than the 1 MB that this chat takes."},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, problems := collect(t.Context(), out, []string{server + path, server + path}, "", true, []chat.MediaLimit{{Kind: chat.File, MaxBytes: 1 << 20}, {Kind: chat.Image, MaxBytes: 1 << 20}})
			if strings.Join(sent(got), "; ") != tc.want || strings.Join(problems, " ") != tc.problem {
				t.Errorf("sent %q, problems %q", sent(got), problems)
			}
		})
	}
}

// A server that does not answer holds an answer up for a while, and not once for each of its files. What is not of the web is
// sent, also where the turn was stopped meanwhile.
func TestFetchesShareATimeLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, "note.txt", []byte("hello"))
	var asked atomic.Int64
	out, server := b.web(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	const late = "The file at 127.0.0.1 took too long, so it was not sent."
	paths := []string{server + "/1", server + "/2", server + "/3", "note.txt"}
	got, problems := collect(t.Context(), out.Hasty(50*time.Millisecond), paths, "", true, all)
	if diff := cmp.Diff([]string{"file note.txt (text/plain)"}, sent(got)); diff != "" || !slices.Equal(problems, []string{late}) || asked.Load() > 1 {
		t.Errorf("asked %d times, problems %q, sent %s", asked.Load(), problems, diff)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	got, problems = collect(stopped, out, paths, "", true, all)
	if diff := cmp.Diff([]string{"file note.txt (text/plain)"}, sent(got)); diff != "" || !slices.Equal(problems, []string{late}) {
		t.Errorf("problems %q, sent %s", problems, diff)
	}
}

// A server that stops in the middle of a file is too late, too.
func TestAFileThatStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out, server := b.web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(text)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	got, problems := collect(t.Context(), out.Hasty(time.Second), []string{server + "/note.txt"}, "", true, all)
	if want := []string{"The file at 127.0.0.1 took too long, so it was not sent."}; !slices.Equal(problems, want) || got != nil || len(b.Kept(t)) != 0 {
		t.Errorf("sent %v, problems %q, kept are %q", got, problems, b.Kept(t))
	}
}

// The address that is connected to is checked, not only the one that the name stood for before.
// Behaviour: files-web-public.
func TestAddressesOutsideThePublicWeb(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out, server := b.web(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	port := server[strings.LastIndex(server, ":"):]
	for address, problem := range map[string]string{
		"http://both.test/":        "is not on the public internet",
		"http://inner.test/":       "is not on the public internet",
		"http://nowhere.test/":     "is on a host that cannot be found",
		"http://10.0.0.1/":         "is not on the public internet",
		"http://[::ffff:10.0.0.1]": "is not on the public internet",
		"http://0x7f.1/":           "is on a host that cannot be found",
		"http://a:b@127.0.0.1/":    "holds a login in its address",
		"http://127.0.0.1:22/":     "is behind a port that is none of the web's",
		"http:///x":                "is no address of the web",
		"HTTP:opaque":              "is no address of the web",
	} {
		if got, problems := collect(t.Context(), out, []string{address}, "", true, all); got != nil || len(problems) != 1 || !strings.Contains(problems[0], problem) {
			t.Errorf("%s: sent %v, problems %q, want %q", address, got, problems, problem)
		}
	}
	if got, problems := collect(t.Context(), out, []string{"http://here.test" + port + "/"}, "", true, all); got != nil || len(problems) != 1 {
		t.Errorf("a name that only the check knows: sent %v, problems %q", got, problems)
	}
	if got, problems := collect(t.Context(), out, []string{server + "/x.txt"}, "", true, all); len(got) != 1 || problems != nil {
		t.Errorf("sent %v, problems %q", got, problems)
	}
	// Where it is off, and in a chat that takes no files, nothing is asked of the web.
	never := outgoing.New(outgoing.Options{Store: b.Store, Ledger: b.Rows, Workspace: b.Workspace}, hclog.NewNullLogger())
	for _, refused := range []struct {
		out    *outgoing.Files
		limits []chat.MediaLimit
	}{{never, all}, {out, nil}} {
		if got, problems := collect(t.Context(), refused.out, []string{server + "/x.txt"}, "", true, refused.limits); got != nil || len(problems) != 1 || problems[0] != "Files of the web are not sent from here." {
			t.Errorf("sent %v, problems %q", got, problems)
		}
	}
	strict := b.fetching(web.NewGuard())
	if got, problems := collect(t.Context(), strict, []string{"http://127.0.0.1" + port + "/"}, "", true, all); got != nil || len(problems) != 1 {
		t.Errorf("sent %v, problems %q", got, problems)
	}
}

// What a name stands for may change between the check and the connection, which is refused then.
// Behaviour: files-web-public.
func TestResolvedAddressIsCheckedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	out := b.fetching(within(func(string) ([]netip.Addr, error) {
		asked = true
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}, u.Port()))
	got, problems := collect(t.Context(), out, []string{"http://localhost:" + u.Port() + "/"}, "", true, all)
	if diff := cmp.Diff([]string{"The file at localhost is not on the public internet, so it was not sent."}, problems); diff != "" || got != nil {
		t.Errorf("sent %v, problems %s", got, diff)
	}
	if !asked || reached {
		t.Errorf("the check was made: %t; the server was reached: %t", asked, reached)
	}
}
