package envelope

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxNumber is the length up to which a message's id that is a number is shown to the agent as it is.
const maxNumber = 9

// handles encodes the letters of a handle after the first.
var handles = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Handle returns the name by which the agent knows a message: the network's id if that is a short number, otherwise six
// characters made of it, which begin with one of the letters b to k. Two messages may have the same one: see [Find].
func Handle(id chat.MessageID) string {
	if id == "" || isNumber(id) {
		return string(id)
	}
	sum := sha256.Sum256([]byte(id))
	return string("bcdfghjk"[sum[0]%8]) + handles.EncodeToString(sum[1:5])[:5]
}

func isNumber(id chat.MessageID) bool {
	return len(id) <= maxNumber && strings.Trim(string(id), "0123456789") == ""
}

// Find returns the message that a handle names among the known ones; false: none, or several.
func Find(handle string, known []chat.MessageID) (found chat.MessageID, ok bool) {
	for _, id := range known {
		if id == "" || id == found || Handle(id) != handle {
			continue
		}
		if ok {
			return "", false
		}
		found, ok = id, true
	}
	return found, ok
}

// ids returns the part of a line that names messages.
func ids(messages []Message) string {
	var names []string
	for _, m := range messages {
		if name := Handle(m.ID); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "id:" + strings.Join(names[max(0, len(names)-maxLines):], ",")
}
