package page_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/operate/page"
)

// browser is a session in a browser.
type browser struct {
	cookie *http.Cookie
	key    string
}

// begin logs in by a request with these headers, which are names and values.
func begin(t *testing.T, s *page.Sessions, headers ...string) browser {
	t.Helper()
	r, w := (browser{}).request(headers...), httptest.NewRecorder()
	key := s.Begin(w, r)
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || key == "" || strings.Contains(w.Header().Get("Set-Cookie"), key) {
		t.Fatalf("cookies %v, key %q", cookies, key)
	}
	return browser{cookies[0], key}
}

// request is one of the page.
func (b browser) request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8765/v1/status", nil)
	r.Header.Set(page.Header, b.key)
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// Behaviour: state-page-session.
func TestASessionNeedsItsCookieItsKeyAndItsPage(t *testing.T) {
	t.Parallel()
	s := &page.Sessions{}
	one, other := begin(t, s), begin(t, s)
	otherPort := one.request()
	otherPort.Host = "127.0.0.1:8766"
	for name, tc := range map[string]struct {
		request *http.Request
		want    bool
	}{
		"both":                      {one.request(), true},
		"both, by its page":         {one.request("Sec-Fetch-Site", "same-origin"), true},
		"no key":                    {browser{one.cookie, ""}.request(), false},
		"no cookie":                 {browser{nil, one.key}.request(), false},
		"the key of another":        {browser{one.cookie, other.key}.request(), false},
		"a key that is not one":     {browser{one.cookie, "page"}.request(), false},
		"a page of another site":    {one.request("Sec-Fetch-Site", "cross-site"), false},
		"a page of another port":    {one.request("Sec-Fetch-Site", "same-site"), false},
		"an address that was typed": {one.request("Sec-Fetch-Site", "none"), false},
		"a host at another port":    {otherPort, false},
	} {
		if got := s.Has(tc.request); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	s.End(httptest.NewRecorder(), browser{one.cookie, other.key}.request())
	if !s.Has(one.request()) {
		t.Error("somebody else has ended the session")
	}
	w := httptest.NewRecorder()
	s.End(w, one.request())
	if s.Has(one.request()) || !s.Has(other.request()) {
		t.Error("not exactly the session that was ended is over")
	}
	if cookies := w.Result().Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("the cookie stays: %v", cookies)
	}
}

func TestTheCookieIsForTheHostAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		headers []string
		secure  bool
	}{
		"by HTTP":              {nil, false},
		"behind a proxy":       {[]string{"X-Forwarded-Proto", "https"}, true},
		"of a page with TLS":   {[]string{"Origin", "https://127.0.0.1:8765"}, true},
		"of a page by HTTP":    {[]string{"Origin", "http://127.0.0.1:8765"}, false},
		"behind one with none": {[]string{"X-Forwarded-Proto", "http"}, false},
	} {
		c := begin(t, &page.Sessions{}, tc.headers...).cookie
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" || c.MaxAge != 0 || c.Secure != tc.secure || len(c.Value) < 26 {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// Behaviour: state-page-session.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &page.Sessions{}
		used, unused := begin(t, s), begin(t, s)
		time.Sleep(12*time.Hour - time.Second)
		if !s.Has(used.request()) {
			t.Error("a session has ended too soon")
		}
		time.Sleep(time.Second)
		if s.Has(unused.request()) || !s.Has(used.request()) {
			t.Error("not exactly the session that was not used has ended")
		}
		last := begin(t, s)
		for range 31 {
			begin(t, s)
			if !s.Has(last.request()) {
				t.Fatal("a session in use was ended for another")
			}
		}
		if s.Has(used.request()) {
			t.Error("33 sessions are open")
		}
	})
}

func TestFilesRunNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		"/": "text/html", "/page/app.js": "text/javascript", "/page/uplot.js": "text/javascript", "/page/style.css": "text/css", "/page/icon.svg": "image/svg+xml",
		"/page/uplot.LICENSE.txt": "text/plain",
	} {
		w := httptest.NewRecorder()
		page.Files().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Header().Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
		if body := w.Body.String(); path == "/" && (strings.Contains(body, "://") || strings.Contains(body, "style=") || strings.Count(body, "<script") != strings.Count(body, "<script src=\"page/")) {
			t.Errorf("the page has something from elsewhere, or within its text:\n%s", body)
		}
	}
	for _, path := range []string{"/page/", "/page/..", "/page/../page.go", "/page/%2e%2e%2fpage.go", "/page/page.go", "/index.html", "/page.go"} {
		w := httptest.NewRecorder()
		page.Files().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code == http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
