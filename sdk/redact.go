package sdk

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// redactor removes the config's secrets from everything that leaves the plugin for people to read. Authors do not print
// secrets, but libraries do: an HTTP client's error quotes the URL, and some networks have the token in it.
type redactor struct {
	replacer atomic.Pointer[strings.Replacer]
}

// minSecret is the length of the shortest secret that is redacted, in bytes. A shorter one would match ordinary text.
const minSecret = 6

// learn adds secrets to redact, plain and in their URL and JSON encodings.
func (r *redactor) learn(secrets []string) {
	var forms []string
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			continue
		}
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), string(quoted[1:len(quoted)-1]))
	}
	// The replacer uses the first form that matches at a position, so longer forms come first.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, hidden)
	}
	r.replacer.Store(strings.NewReplacer(pairs...))
}

// text returns s without secrets.
func (r *redactor) text(s string) string {
	if replacer := r.replacer.Load(); replacer != nil {
		return replacer.Replace(s)
	}
	return s
}

// writer returns a writer that passes whole lines on to w without secrets, one at a time.
func (r *redactor) writer(w io.Writer) io.Writer { return &redactingWriter{redactor: r, to: w} }

type redactingWriter struct {
	redactor *redactor

	mu sync.Mutex
	to io.Writer
}

func (w *redactingWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := io.WriteString(w.to, w.redactor.text(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
