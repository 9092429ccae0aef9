package redact

import (
	"math"
	"strings"
)

// Random strings differ from words, names and paths in how often neighbouring characters are of different classes: small letters,
// capitals, digits, others. In words, characters of one class follow one another.

// Limits of what may be a key, in characters if not said otherwise.
const (
	minKey     = 20  // of all its random parts together
	minSingle  = 24  // the same, if its letters are of one case
	minPart    = 8   // of a random part; parts are separated by characters that are neither letters nor digits
	minEntropy = 3.0 // bits per character
)

// Limits of what may be a password, in characters.
const (
	minPassword = 10
	maxPassword = 64
)

// class is a class of characters.
type class int

const (
	other class = iota
	small
	capital
	digit
)

func classOf(c byte) class {
	switch {
	case c >= 'a' && c <= 'z':
		return small
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= '0' && c <= '9':
		return digit
	default:
		return other
	}
}

// changes counts the pairs of neighbouring characters of different classes.
func changes(text string) int {
	n := 0
	for i := 1; i < len(text); i++ {
		if classOf(text[i]) != classOf(text[i-1]) {
			n++
		}
	}
	return n
}

// shares returns the fraction of a text's characters that each class has.
func shares(text string) (share [4]float64) {
	for i := range len(text) {
		share[classOf(text[i])] += 1 / float64(len(text))
	}
	return share
}

// mixed reports whether the class changes at least degree times as often as in random text on average. Names such as
// getHTTPServer2 also have all classes, but fewer changes, or few capitals.
func mixed(text string, degree float64) bool {
	share, rate := shares(text), float64(changes(text))/float64(max(1, len(text)-1))
	if share[small] > 0 && share[capital] > 0 {
		const expected = 0.62 // of 62 characters that are equally frequent
		return share[small] >= 0.15 && share[capital] >= 0.15 && rate >= degree*expected
	}
	expected := 1.0
	for _, s := range share {
		expected -= s * s
	}
	return expected >= 0.2 && rate >= degree*expected
}

// entropy returns the entropy of a text in bits per character.
func entropy(text string) (bits float64) {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// public are the prefixes of random IDs that are not secret and help to find the cause of an error.
var public = []string{"req_", "msg_", "toolu_"}

// keys finds strings of base64, hexadecimal and similar encodings that look random.
func keys(text string) (spans []span) {
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && (classOf(text[end]) != other || strings.IndexByte("+/_-=", text[end]) >= 0) {
			end++
		}
		if s, found := key(text[at:end]); found {
			spans = append(spans, span{at + s.from, at + s.to})
		}
		at = max(end, at+1)
	}
	return spans
}

// key returns the range from the first to the last part of a run that looks random. Parts are separated by characters that are
// neither letters nor digits. In a path, most parts do not look random.
func key(run string) (span, bool) {
	for _, id := range public {
		if strings.HasPrefix(run, id) {
			return span{}, false
		}
	}
	var random strings.Builder
	found := span{from: -1}
	for at := 0; at < len(run); {
		end := at
		for end < len(run) && classOf(run[end]) != other {
			end++
		}
		if part := run[at:end]; len(part) >= minPart && mixed(part, 0.5) {
			random.WriteString(part)
			if found.from < 0 {
				found.from = at
			}
			found.to = end
		}
		at = max(end, at+1)
	}
	all := random.String()
	switch {
	case len(all) < minKey, 2*len(all) < found.to-found.from, entropy(all) < minEntropy, !mixed(all, 0.65), !hasDigit(all):
		return span{}, false
	}
	if s := shares(all); (s[capital] == 0 || s[small] == 0) && len(all) < minSingle {
		return span{}, false
	}
	return widen(run, found), true
}

// widen extends a key at both ends by short parts that also look random, and by its padding.
func widen(run string, s span) span {
	for at := s.from - 1; at >= 0 && run[at] != '='; {
		from := at
		for from > 0 && classOf(run[from-1]) != other {
			from--
		}
		if !fickle(run[from:at]) {
			break
		}
		s.from, at = from, from-1
	}
	for at := s.to + 1; at < len(run) && run[at-1] != '='; {
		to := at
		for to < len(run) && classOf(run[to]) != other {
			to++
		}
		if !fickle(run[at:to]) {
			break
		}
		s.to, at = to, to+1
	}
	for s.to < len(run) && run[s.to] == '=' {
		s.to++
	}
	return s
}

// fickle reports whether the class changes at least at every other character.
func fickle(part string) bool { return len(part) > 1 && 2*changes(part) >= len(part)-1 }

// passwords finds words with letters of both cases, digits and symbols, as programs generate them.
func passwords(text string) (spans []span) {
	const parts = " \t\r\n\"'`<>()[]{},;|"
	for at := 0; at < len(text); {
		length := strings.IndexAny(text[at:], parts)
		if length < 0 {
			length = len(text) - at
		}
		word := strings.TrimRight(text[at:at+length], ".!?:")
		if isPassword(word) {
			spans = append(spans, span{at, at + len(word)})
		}
		at += length + 1
	}
	return spans
}

func isPassword(word string) bool {
	if len(word) < minPassword || len(word) > maxPassword || strings.Contains(word, "/") ||
		strings.Contains(word, "&") && strings.Contains(word, "=") {
		return false
	}
	share, symbols, digits := shares(word), 0, 0
	for i := 1; i+1 < len(word); i++ {
		if word[i] >= 0x80 {
			return false
		}
		if classOf(word[i]) == digit {
			digits++
		}
		if strings.IndexByte("!#$^*~&%", word[i]) >= 0 && classOf(word[i-1]) != other && classOf(word[i+1]) != other && !escape(word[i:]) {
			symbols++
		}
	}
	return symbols > 0 && share[small] > 0 && share[capital] > 0 && digits > 1 && 2*changes(word) >= len(word)
}

// escape reports whether a text begins with a percent-encoded byte.
func escape(text string) bool {
	isHex := func(c byte) bool { return classOf(c) == digit || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f' }
	return len(text) > 2 && text[0] == '%' && isHex(text[1]) && isHex(text[2])
}
