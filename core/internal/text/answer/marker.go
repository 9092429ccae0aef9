package answer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Limits of markers. Longer text is not a marker.
const (
	maxID   = 256
	maxTag  = 2000
	maxName = 64 // of a tag, including blanks around it
	maxPath = 4096
)

// tokens are the tokens that make an answer silent.
var tokens = []string{SilentToken, HeartbeatToken}

// adornment is what may surround a token.
const adornment = " \t\r`*_\"'.!"

// isToken reports whether the line consists of a token.
func isToken(line string) bool {
	return slices.Contains(tokens, strings.ToUpper(strings.Trim(line, adornment)))
}

var remark = lazyregexp.New(`^[*_\s]*(?:NO_REPLY|HEARTBEAT_OK)[*_.!\s]*[-–—:;,(]`)

// isRemark reports whether the line is a token with a remark behind it.
func isRemark(line string) bool { return remark().MatchString(line) }

// sentenceEnds end what precedes a token in its line.
const sentenceEnds = ".!?…:;,)-–—"

// cutToken removes a token that is a sentence of its own from the end of a line. If the line may continue, a possible
// beginning of one is removed, and held is true.
func cutToken(line string, complete bool) (visible string, held bool) {
	trimmed := strings.TrimRight(line, "*_.! \t\r")
	at := strings.LastIndexAny(trimmed, " \t") + 1
	before := strings.TrimRight(line[:at], " \t")
	word := strings.TrimLeft(trimmed[at:], "*_")
	if before == "" || word == "" || !strings.ContainsRune(sentenceEnds, lastRune(before)) {
		return line, false
	}
	for _, token := range tokens {
		if word == token {
			return before, !complete
		}
		if !complete && strings.HasPrefix(token, word) && len(trimmed) == len(line) {
			return before, true
		}
	}
	return line, false
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

const mediaMark = "MEDIA:"

// media returns the path in a line, without quotation marks.
func media(line string) (path string, ok bool) {
	path, ok = strings.CutPrefix(unindented(line), mediaMark)
	path = strings.TrimSpace(path)
	for _, quote := range []string{`"`, "'", "`"} {
		if inner, quoted := strings.CutPrefix(path, quote); quoted && strings.HasSuffix(inner, quote) {
			path = strings.TrimSuffix(inner, quote)
			break
		}
	}
	return path, ok && path != "" && len(path) <= maxPath
}

// MayNameFiles reports whether a text may have lines that name files.
func MayNameFiles(text string) bool { return strings.Contains(text, mediaMark) }

// unindented returns the line without leading spaces, if they are too few for code.
func unindented(line string) string {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return line
	}
	return rest
}

// hostMarks are the beginnings of the host's lines in prompts that are only a heading or a sender.
var hostMarks = []string{
	"[from: ", "[Current message - respond to this]", "[Chat messages since your last reply - for context]",
}

var hostLine = lazyregexp.New(`^(\[from: [^\]]*\]|\[Current message - respond to this\]|\[Chat messages since your last reply - for context\])\s*$`)

// mayBecome reports whether an incomplete line may turn out to be a marker.
func mayBecome(line string) bool {
	bare := strings.ToUpper(strings.TrimLeft(line, adornment))
	for _, token := range tokens {
		if strings.HasPrefix(token, bare) || strings.HasPrefix(bare, token) && strings.Trim(bare[len(token):], adornment) == "" {
			return true
		}
	}
	if isRemark(line) {
		return true
	}
	start := unindented(line)
	for _, mark := range append([]string{mediaMark}, hostMarks...) {
		if strings.HasPrefix(mark, start) || strings.HasPrefix(start, mark) {
			return true
		}
	}
	return false
}

// tag is a marker within a line.
type tag struct{ name, value string }

// tagNames are the known tags. Some hosts put a text between [[tts:text]] and [[/tts:text]].
var tagNames = []string{"reply_to_current", "reply_to", "tts", "audio_as_voice", "/tts"}

// cutTags removes the tags from a line, and one of the blanks around each. If the line may continue, a possible tag or
// inline code at its end is removed and held is true.
func cutTags(line string, complete bool) (visible string, tags []tag, held bool) {
	if !strings.Contains(line, "[") {
		return line, nil, false
	}
	var b strings.Builder
	open := false // after a run of backticks, which may turn the rest into code
	closed := codeEnds(line, complete)
	for at := 0; at < len(line); {
		switch line[at] {
		case '`':
			end := closed[at]
			if end == 0 {
				open = true
				end = at + len(backticks(line[at:]))
			}
			b.WriteString(line[at:end])
			at = end
			continue
		case '[':
			length, t, maybe := readTag(line[at:], complete)
			if maybe || length > 0 && open && !complete {
				return b.String(), tags, true
			}
			if length > 0 {
				tags = append(tags, t)
				at += length
				if s := b.String(); s == "" || strings.HasSuffix(s, " ") || strings.HasSuffix(s, "\t") {
					at += len(line[at:]) - len(strings.TrimLeft(line[at:], " \t"))
				}
				continue
			}
		}
		b.WriteByte(line[at])
		at++
	}
	return b.String(), tags, false
}

// codeEnds returns the end of the inline code that begins at each run of backticks: after the next run of the same length.
// In an incomplete line a run at its end may still grow, and ends none.
func codeEnds(line string, complete bool) map[int]int {
	var starts []int
	for at := 0; at < len(line); {
		next := strings.IndexByte(line[at:], '`')
		if next < 0 {
			break
		}
		at += next
		starts = append(starts, at)
		at += len(backticks(line[at:]))
	}
	ends, behind := map[int]int{}, map[int]int{} // after the next run, by its length
	for _, at := range slices.Backward(starts) {
		length := len(backticks(line[at:]))
		if end := behind[length]; end > 0 {
			ends[at] = end
		}
		if complete || at+length < len(line) {
			behind[length] = at + length
		}
	}
	return ends
}

func backticks(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "`"))] }

// readTag parses the tag at the start of a text; the length is zero if it has none. If the text may continue, maybe says
// whether it may be the beginning of one.
func readTag(text string, complete bool) (length int, t tag, maybe bool) {
	body, found := strings.CutPrefix(text, "[[")
	if !found {
		return 0, tag{}, !complete && text == "["
	}
	inner, _, closed := strings.Cut(body[:min(len(body), maxTag+len("]]]"))], "]]")
	if len(strings.TrimSuffix(inner, "]")) > maxTag {
		return 0, tag{}, false
	}
	name, value, valued := strings.Cut(inner, ":")
	if len(name) > maxName {
		return 0, tag{}, false
	}
	name = strings.ToLower(strings.TrimSpace(name))
	for _, known := range tagNames {
		switch {
		case closed && name == known:
			return len("[[") + len(inner) + len("]]"), tag{name: name, value: strings.TrimSpace(value)}, false
		case complete || closed:
		case valued && name == known, !valued && strings.HasPrefix(known, strings.TrimRight(name, "] ")):
			maybe = true
		}
	}
	return 0, tag{}, maybe
}

// fence is an open fenced block; without a run it is not open.
type fence struct{ run string }

// opens returns the fence that a line opens.
func opens(line string) fence {
	rest := unindented(line)
	for _, mark := range []string{"`", "~"} {
		info := strings.TrimLeft(rest, mark)
		if run := rest[:len(rest)-len(info)]; len(run) >= 3 && (mark == "~" || !strings.Contains(info, mark)) {
			return fence{run: run}
		}
	}
	return fence{}
}

// closes reports whether a line closes the fence.
func (f fence) closes(line string) bool {
	rest := strings.TrimRight(unindented(line), " \t")
	return strings.HasPrefix(rest, f.run) && strings.Trim(rest, f.run[:1]) == ""
}
