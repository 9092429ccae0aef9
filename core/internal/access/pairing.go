package access

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The bounds of pairing requests.
//
// A code is as hard to guess among many as among few, so there is room for more requests than a flood of accounts easily
// makes. Beyond that the oldest gives way, but not one whose owner may be about to approve it.
const (
	CodeTTL    = time.Hour        // how long a request stands
	MaxPending = 1000             // requests that stand at once in a channel
	KeepFor    = 10 * time.Minute // how long a request stands for certain; until then further strangers are ignored
)

// The letters of a code: none that is easily taken for another. They are 32, so that each random byte gives one
// without a bias.
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

// ParseCode returns the code that a person typed, in capitals and without spaces or hyphens, and whether it can be one.
func ParseCode(typed string) (string, bool) {
	code := strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(typed)))
	if len(code) != codeLength || strings.Trim(code, codeLetters) != "" {
		return "", false
	}
	return code, true
}

// Prompt is what a stranger is told: in CommonMark, with the code and the command that approves it each in a block of
// its own, ready to be copied.
func Prompt(channel string, user chat.UserID, code string) string {
	return wording.PairingOffered(string(user), code, channel)
}

// Welcome is what somebody who was let in is told.
func Welcome(p domain.Pairing) domain.OutboxItem {
	return domain.OutboxItem{
		To:   chat.Address{Channel: p.Channel, Chat: p.Chat},
		Text: wording.Welcome(strings.TrimSpace(p.Name)),
	}
}
