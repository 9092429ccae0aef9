package debounce

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// How long a message waits by itself. The parts of a long text, and messages that are forwarded together, arrive within a tenth of a
// second of each other. What a person types takes more than [longest] from the third key on: 239 ms a key with a keyboard (Dhakal et
// al., Observations on Typing from 136 Million Keystrokes, CHI 2018), 332 ms on a phone (Palin et al., How do People Type on Mobile
// Devices, MobileHCI 2019: 36.2 words a minute).
const (
	brief   = 120 * time.Millisecond // after a whole sentence
	usual   = 180 * time.Millisecond
	longest = 500 * time.Millisecond // after what looks unfinished
)

const (
	longText  = 3500 // characters; networks cut texts of 4,000 and more into several messages
	fewWords  = 2
	fewRunes  = 12
	sentences = ".!?。！？।؟"
	closers   = "\"')]}»”’*_`"
	openEnds  = ",;:-–—([{&+/\\"
)

// look judges a message by how complete it looks.
func look(m domain.Message) domain.Wait {
	text := strings.TrimSpace(m.Text)
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, closers))
	switch {
	case m.Forwarded != nil, utf8.RuneCountInString(text) >= longText, unfinished(text):
		return domain.Wait{For: longest, Why: domain.WaitUnfinished}
	case last == utf8.RuneError: // only spaces and quotes, or broken
		return domain.Wait{For: longest, Why: domain.WaitUnfinished}
	case strings.ContainsRune(sentences, last), unicode.Is(unicode.So, last): // a symbol, such as an emoji
		return domain.Wait{For: brief, Why: domain.WaitSentence}
	case len(strings.Fields(text)) <= fewWords && utf8.RuneCountInString(text) <= fewRunes: // such as a greeting
		return domain.Wait{For: longest, Why: domain.WaitUnfinished}
	default:
		return domain.Wait{For: usual, Why: domain.WaitUsual}
	}
}

// unfinished reports whether a text ends in the middle of something.
func unfinished(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(openEnds, last) || last == '…' || strings.HasSuffix(text, "..") || strings.Count(text, "```")%2 == 1
}
