package web_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/clawhost/clawhost/core/internal/media/web"
)

// records are the answers of a name server to the first question for a name, to the second one, and so on; the last one stays.
// An answer has the addresses, of either kind; "=NAME" is an alias before those behind it, "!" that the server fails.
type records map[string][]string

// nameServer answers by records, with a time to live of zero.
type nameServer struct {
	mu    sync.Mutex
	names records
	asked map[string]int // by name and type of record
}

// serve starts a name server of the test and returns a resolver that asks it.
func (s *nameServer) serve(t *testing.T) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = socket.Close(); serving.Wait() })
	serving.Go(func() {
		for question := make([]byte, 4096); ; {
			n, from, err := socket.ReadFrom(question)
			if err != nil {
				return
			}
			if answer := s.answer(question[:n]); answer != nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	})
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

func (s *nameServer) answer(packet []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	name := strings.TrimSuffix(q.Name.String(), ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := s.names[name]
	key := name + q.Type.String()
	turn := min(s.asked[key], len(answers)-1)
	s.asked[key]++
	if len(answers) == 0 {
		m.RCode = dnsmessage.RCodeNameError
		return packed(m)
	}
	holder := q.Name
	add := func(kind dnsmessage.Type, body dnsmessage.ResourceBody) {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: holder, Type: kind, Class: dnsmessage.ClassINET}, Body: body})
	}
	for _, word := range strings.Fields(answers[turn]) {
		if word == "!" {
			m.RCode = dnsmessage.RCodeServerFailure
			continue
		}
		if alias, is := strings.CutPrefix(word, "="); is {
			to := dnsmessage.MustNewName(alias + ".")
			add(dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: to})
			holder = to
			continue
		}
		switch a := netip.MustParseAddr(word); {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			add(q.Type, &dnsmessage.AResource{A: a.As4()})
		case !a.Is4() && q.Type == dnsmessage.TypeAAAA:
			add(q.Type, &dnsmessage.AAAAResource{AAAA: a.As16()})
		}
	}
	return packed(m)
}

func packed(m dnsmessage.Message) []byte {
	packet, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return packet
}

// A name whose addresses change after they were checked leads nowhere but to a public address, whatever kind of record says so.
// The server at 127.0.0.1 is the target; 127.0.0.2 counts as public.
// Behaviour: links, files-web-public.
func TestRebindingOfNames(t *testing.T) {
	t.Parallel()
	var reached, allowed atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(target.Close)
	_, port, err := net.SplitHostPort(target.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	six, err := net.Listen("tcp", net.JoinHostPort("::1", port))
	if err == nil {
		inner := &http.Server{Handler: target.Config.Handler}
		go func() { _ = inner.Serve(six) }()
		t.Cleanup(func() { _ = inner.Close() })
	}
	outer, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", port))
	if err != nil {
		t.Fatal(err)
	}
	redirect := http.RedirectHandler("http://inner.test:"+port+"/", http.StatusFound)
	public := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allowed.Add(1); r.URL.Path == "/moved" {
			redirect.ServeHTTP(w, r)
		}
	})}
	go func() { _ = public.Serve(outer) }()
	t.Cleanup(func() { _ = public.Close() })
	names := &nameServer{asked: map[string]int{}, names: records{
		"stays.test":    {"127.0.0.2"},
		"alias.test":    {"=stays.test 127.0.0.2"},
		"inner.test":    {"127.0.0.1"},
		"moves.test":    {"127.0.0.2", "127.0.0.1"},
		"six.test":      {"2606:4700::1111", "::1"},
		"mapped.test":   {"127.0.0.2", "::ffff:127.0.0.1"},
		"embedded.test": {"127.0.0.2", "64:ff9b::7f00:1"},
		"local.test":    {"127.0.0.2", "fe80::1"},
		"zero.test":     {"127.0.0.2", "0.0.0.0"},
		"zeros.test":    {"127.0.0.2", "::"},
		"both.test":     {"127.0.0.2", "::1 127.0.0.1"},
		"via.test":      {"127.0.0.2", "=inner.test 127.0.0.1"},
		"aliases.test":  {"=a.test =b.test =c.test 127.0.0.1"},
		"one.test":      {"127.0.0.2 " + strings.Repeat("127.0.0.2 ", 20) + "127.0.0.1"},
		"first.test":    {"::1 127.0.0.2"},
		"later.test":    {"127.0.0.2", "127.0.0.1 127.0.0.2 ::1"},
		"meta.test":     {"127.0.0.2", "169.254.169.254"},
		"empty.test":    {""},
		"fails.test":    {"!"},
		// As the C library reads it. Names of digits only are not looked up.
		"0x7f000001": {"127.0.0.1"}, "2130706433": {"127.0.0.1"}, "127.1": {"127.0.0.1"},
	}}
	resolver := names.serve(t)
	for address, want := range map[string]string{
		"stays.test/":      "",
		"alias.test/":      "",
		"inner.test/":      "is not on the public internet",
		"moves.test/":      "is not on the public internet",
		"six.test/":        "is not on the public internet",
		"mapped.test/":     "is not on the public internet",
		"embedded.test/":   "is not on the public internet",
		"local.test/":      "is not on the public internet",
		"zero.test/":       "is not on the public internet",
		"zeros.test/":      "is not on the public internet",
		"both.test/":       "is not on the public internet",
		"via.test/":        "is not on the public internet",
		"aliases.test/":    "is not on the public internet",
		"one.test/":        "is not on the public internet",
		"first.test/":      "is not on the public internet",
		"meta.test/":       "is not on the public internet",
		"stays.test/moved": "is not on the public internet", // to a name that was never checked
		"empty.test/":      "is on a host that cannot be found",
		"fails.test/":      "is on a host that cannot be found",
		"nowhere.test/":    "is on a host that cannot be found",
		"2130706433/":      "is on a host that cannot be found",
		"0x7f000001/":      "is not on the public internet",
		"0177.0.0.1/":      "is on a host that cannot be found",
		"127.1/":           "is on a host that cannot be found",
		"0/":               "is on a host that cannot be found",
	} {
		host, path, _ := strings.Cut(address, "/")
		err := fetch(t, resolver, port, netip.MustParseAddr("127.0.0.2"), "http://"+host+":"+port+"/"+path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if allowed.Load() != 3 {
		t.Errorf("what may be reached was reached %d times", allowed.Load())
	}
	// Which of several addresses is asked first is not the host's choice. None but a public one is.
	if err := fetch(t, resolver, port, netip.MustParseAddr("127.0.0.2"), "http://later.test:"+port+"/"); err != nil {
		t.Logf("later.test: %v", err)
	}
	if reached.Load() != 0 {
		t.Errorf("the target was reached %d times", reached.Load())
	}
	names.mu.Lock()
	defer names.mu.Unlock()
	for _, name := range []string{"moves.test", "six.test", "via.test"} {
		if names.asked[name+"TypeA"]+names.asked[name+"TypeAAAA"] < 3 {
			t.Errorf("%s was not resolved again for the connection", name)
		}
	}
}

// A redirect leads to no other scheme, port, login or address than a link may name.
// Behaviour: links, files-web-public.
func TestRedirectsThatLeadAway(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		asked.Add(1)
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resolver := (&nameServer{asked: map[string]int{}}).serve(t)
	for to, want := range map[string]string{
		"/":                               "",
		"ftp://127.0.0.1/":                "is no address of the web",
		"gopher://127.0.0.1:70/_GET":      "is no address of the web",
		"file:///etc/passwd":              "is no address of the web",
		"data:text/plain,x":               "is no address of the web",
		"http:127.0.0.1":                  "is no address of the web",
		"http://127.0.0.1:22/":            "is behind a port that is none of the web's",
		"http://127.0.0.1:6379/":          "is behind a port that is none of the web's",
		"http://user:word@127.0.0.1/":     "holds a login in its address",
		"http://user@127.0.0.1/":          "holds a login in its address",
		"http://127.0.0.2:" + port + "/":  "is not on the public internet",
		"http://[::1]/":                   "is not on the public internet",
		"http://[::]/":                    "is not on the public internet",
		"http://[::ffff:127.0.0.2]/":      "is not on the public internet",
		"http://[::ffff:7f00:2]/":         "is not on the public internet",
		"http://[fe80::1%25lo]/":          "is not on the public internet",
		"http://0.0.0.0/":                 "is not on the public internet",
		"http://169.254.169.254/latest/":  "is not on the public internet",
		"http://10.0.0.1/":                "is not on the public internet",
		"http://2130706434:" + port + "/": "no such host",
		"http://0x7f000002:" + port + "/": "no such host",
		"http://0:" + port + "/":          "no such host",
		"http://127.1:" + port + "/":      "no such host",
	} {
		before := asked.Load()
		err := fetch(t, resolver, port, netip.MustParseAddr("127.0.0.1"), server.URL+"/?to="+url.QueryEscape(to))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", to, err, want)
		}
		if reached := asked.Load() != before; reached != (want == "") {
			t.Errorf("%s: the target was reached: %t", to, reached)
		}
	}
}

// fetch fetches a file by names of a resolver, at a port of the test. An address counts as public.
func fetch(t *testing.T, resolver web.Resolver, port string, besides netip.Addr, address string) error {
	t.Helper()
	file, err := within(resolver, port, besides).Get(t.Context(), address)
	if err != nil {
		return err
	}
	return file.Close()
}
