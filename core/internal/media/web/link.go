package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// maxLinks limits the links of a message that are read.
const maxLinks = 3

// linkForm matches web addresses, including punctuation of the sentence after them.
var linkForm = lazyregexp.New("(?i)\\bhttps?://[^\\s<>\"`\\x00-\\x1f\\\\]+")

// Links returns the first links of a text, each once.
func Links(text string) []string {
	if !strings.Contains(text, "://") {
		return nil
	}
	var list []string
	for _, found := range linkForm().FindAllString(text, 10*maxLinks) {
		if len(found) > 2*maxURL {
			continue // too long even without the punctuation
		}
		found = withoutPunctuation(found)
		if len(found) <= maxURL && !slices.Contains(list, found) {
			list = append(list, found)
		}
		if len(list) == maxLinks {
			break
		}
	}
	return list
}

// unexpanded returns an address for a program, without what some programs, such as curl, expand to a list of addresses,
// like [1-100] or {a,b}.
func unexpanded(u *url.URL) string {
	host := u.Host // with brackets around an IPv6 address
	before, behind, _ := strings.Cut(u.String(), host)
	return before + host + strings.NewReplacer("[", "%5B", "]", "%5D", "{", "%7B", "}", "%7D").Replace(behind)
}

// withoutPunctuation removes the punctuation of the sentence around a link, and unbalanced closing brackets.
func withoutPunctuation(link string) string {
	const opening, closing = "([{", ")]}"
	var surplus [len(closing)]int // of closing brackets
	for i := range surplus {
		surplus[i] = strings.Count(link, closing[i:i+1]) - strings.Count(link, opening[i:i+1])
	}
	for link != "" {
		last := link[len(link)-1]
		bracket := strings.IndexByte(closing, last)
		switch {
		case strings.IndexByte(".,;:!?'*_~", last) >= 0:
		case bracket >= 0 && surplus[bracket] > 0:
			surplus[bracket]--
		default:
			return link
		}
		link = link[:len(link)-1]
	}
	return link
}
