package media

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxLinks is how many links of a message are read.
const maxLinks = 3

// linkForm finds addresses of the web, with what may stand behind them in a sentence.
var linkForm = regexp.MustCompile("(?i)\\bhttps?://[^\\s<>\"`\\x00-\\x1f\\\\]+")

// links returns the first links of a text, each once.
func links(text string) []string {
	var list []string
	for _, found := range linkForm.FindAllString(text, 10*maxLinks) {
		if len(found) > 2*maxURL {
			continue // It is too long whatever ends the sentence.
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

// unexpanded is an address as a program gets it: without what some, such as curl, take for a list of addresses, like [1-100] or
// {a,b}.
func unexpanded(u *url.URL) string {
	host := u.Host // with brackets around an IPv6 address
	before, behind, _ := strings.Cut(u.String(), host)
	return before + host + strings.NewReplacer("[", "%5B", "]", "%5D", "{", "%7B", "}", "%7D").Replace(behind)
}

// withoutPunctuation drops what ends the sentence around a link, and the bracket that was opened before it.
func withoutPunctuation(link string) string {
	for {
		trimmed := strings.TrimRight(link, ".,;:!?'*_~")
		for _, pair := range []string{"()", "[]", "{}"} {
			if strings.HasSuffix(trimmed, pair[1:]) && strings.Count(trimmed, pair[1:]) > strings.Count(trimmed, pair[:1]) {
				trimmed = trimmed[:len(trimmed)-1]
			}
		}
		if trimmed == link {
			return link
		}
		link = trimmed
	}
}
