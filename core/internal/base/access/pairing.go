package access

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of pairing requests.
//
// The number of requests does not make a code easier to guess, so the limit is higher than what a flood of accounts easily
// reaches. Beyond it the oldest request is dropped, unless its owner may be about to approve it.
const (
	CodeTTL    = time.Hour        // how long a request is valid
	MaxPending = 1000             // maximum valid requests in a channel
	KeepFor    = 10 * time.Minute // how long a request cannot be dropped; meanwhile further strangers are ignored
)

// The letters of a code: none that is easily mistaken for another. There are 32, so a random byte selects one without bias.
const (
	codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	codeLength  = 8
)

// NewCode returns a random pairing code of 40 bits.
func NewCode() string {
	code := make([]byte, codeLength)
	rand.Read(code) // never fails
	for i, b := range code {
		code[i] = codeLetters[int(b)%len(codeLetters)]
	}
	return string(code)
}

// ParseCode normalises a typed code: upper case, without spaces or hyphens. It reports whether the result may be a code.
func ParseCode(typed string) (string, bool) {
	code := strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(typed)))
	if len(code) != codeLength || strings.Trim(code, codeLetters) != "" {
		return "", false
	}
	return code, true
}

// Prompt returns the text for a stranger: in CommonMark, with the code and the command that approves it each in a separate
// block for copying.
func Prompt(channel string, user chat.UserID, code string) string {
	return wording.PairingOffered(string(user), code, channel)
}

// Welcome is what a person who was let in reads.
func Welcome(p domain.Pairing) domain.OutboxItem {
	return domain.OutboxItem{
		To:   chat.Address{Channel: p.Channel, Chat: p.Chat},
		Text: wording.Welcome(strings.TrimSpace(p.Name)),
	}
}
