package support

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/docs"
	"github.com/clawhost/clawhost/sdk/redact"
)

const (
	// gap stands for words that are left out.
	gap = "…"
	// maxWords bounds what is kept of a text, in characters.
	maxWords = 500
)

// disguise takes out of texts what could be about people. A thing has the same pseudonym in all of a bundle.
type disguise struct {
	labels map[string]string            // the labels of plugins, and what they are called
	names  map[string]map[string]string // pseudonyms by kind and what they stand for
	words  map[string]bool              // that may stay
}

// shipped are the plugins whose labels say nothing about anybody.
var shipped = []string{"discord", "memory", "schedule", "telegram", "webchat", "webhook", "whatsapp"}

// terms are words of errors that are not in the manual's sentences.
const terms = "accept addr allocate bind broken certificate chdir chmod closed connect connection context copy database deadline decode desc dial dns " +
	"encode eof exceeded exec exit fork handshake http https json listen locked lookup lstat mkdir mkdirat open openat parse pipe read remove rename reset " +
	"connected connecting disconnected reconnecting trouble resource rpc sqlite stat statfs tcp temporarily timeout tls udp unavailable unexpected unix unlink unmarshal write x509 yaml"

var (
	word   = lazyregexp.New(`^[a-z][a-z'-]*$`)
	small  = lazyregexp.New(`^\d{1,3}$`)
	quotes = lazyregexp.New("\"[^\"]*\"|`[^`]*`|“[^”]*”|«[^»]*»|(^|[\\s(=:])'[^']*'")
	code   = lazyregexp.New("(?s)```.*?```|`[^`]*`|<[^>]*>|\\]\\([^)]*\\)|\"[^\"]*\"|https?://\\S*")
)

// newDisguise returns a disguise that knows these labels of plugins.
func newDisguise(labels []string) *disguise {
	d := &disguise{labels: map[string]string{}, names: map[string]map[string]string{}, words: map[string]bool{}}
	for _, label := range labels {
		d.labels[label] = label
		if !slices.Contains(shipped, label) {
			d.labels[label] = d.name("plugin", label)
		}
	}
	for _, term := range strings.Fields(terms) {
		d.words[term] = true
	}
	for _, name := range slices.Concat(amounts, texts, codes, slices.Collect(maps.Keys(kinds))) {
		d.learn(strings.ReplaceAll(name, "_", " "))
	}
	for errno := syscall.Errno(1); errno < 200; errno++ {
		d.learn(errno.Error())
	}
	_ = fs.WalkDir(docs.Pages, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		page, err := docs.Pages.ReadFile(path)
		d.learn(code().ReplaceAllString(string(page), " "))
		return err
	}) // what is embedded can be read
	return d
}

// learn keeps the words of a text of the project that begin no sentence and are nobody's name.
func (d *disguise) learn(text string) {
	for _, w := range strings.Fields(text) {
		if w = strings.Trim(w, ".,:;!?()[]*_|"); word().MatchString(w) {
			d.words[w] = true
		}
	}
}

// name returns the pseudonym of a value; of nothing, nothing.
func (d *disguise) name(kind, value string) string {
	if value == "" {
		return ""
	}
	of := d.names[kind]
	if of == nil {
		of = map[string]string{}
		d.names[kind] = of
	}
	if of[value] == "" {
		of[value] = fmt.Sprintf("%s-%d", kind, len(of)+1)
	}
	return of[value]
}

// label returns what a plugin is called.
func (d *disguise) label(of string) string {
	if called, known := d.labels[of]; known {
		return called
	}
	return d.name("plugin", of)
}

// text keeps the words of a text that are in the manual or those of the system, and small numbers. What is quoted is left out.
func (d *disguise) text(s string) string {
	if len(s) > 10*maxWords {
		s = strings.ToValidUTF8(s[:10*maxWords], "")
	}
	s = quotes().ReplaceAllString(redact.Text(s, gap), " "+gap+" ")
	var kept []string
	for _, w := range strings.Fields(s) {
		bare := strings.Trim(w, ".,:;()")
		if !d.words[bare] && !small().MatchString(bare) {
			if len(kept) == 0 || kept[len(kept)-1] != gap {
				kept = append(kept, gap)
			}
			continue
		}
		end := w[strings.LastIndex(w, bare)+len(bare):]
		kept = append(kept, bare+strings.Trim(end, "()"))
	}
	text := []rune(strings.Join(kept, " "))
	return string(text[:min(len(text), maxWords)])
}

// one returns a value if it is one of the pattern, otherwise its pseudonym.
func (d *disguise) one(pattern *regexp.Regexp, kind, value string) string {
	if value == "" || pattern.MatchString(value) {
		return value
	}
	return d.name(kind, value)
}
