package main

import (
	"context"
	"regexp"
	"slices"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// named matches a mention in a text, by phone number or hidden id.
var named = regexp.MustCompile(`@\+?[0-9]{6,18}\b`)

// maxNamed limits the mentions of a message.
const maxNamed = 50

// mention finds mentions in a text, as "@+15551234567" or "@900000000001", and rewrites them as WhatsApp does: these people
// are notified, and their names are shown. Unknown numbers stay unchanged.
func (*channel) mention(ctx context.Context, lids store.LIDStore, text string) (string, []string) {
	var people []string
	looked := 0
	text = named.ReplaceAllStringFunc(text, func(word string) string {
		if looked++; looked > maxNamed {
			return word
		}
		jid, known := whois(ctx, lids, word[1:])
		if !known {
			return word
		}
		if !slices.Contains(people, jid.String()) {
			people = append(people, jid.String())
		}
		return "@" + jid.User
	})
	return text, people
}

// whois returns the hidden address of a number, or false if the store does not know it or fails.
func whois(ctx context.Context, lids store.LIDStore, number string) (types.JID, bool) {
	if number[0] == '+' {
		number = number[1:]
	} else if pn, err := lids.GetPNForLID(ctx, types.NewJID(number, types.HiddenUserServer)); err == nil && !pn.IsEmpty() {
		return types.NewJID(number, types.HiddenUserServer), true
	}
	lid, err := lids.GetLIDForPN(ctx, types.NewJID(number, types.DefaultUserServer))
	return lid.ToNonAD(), err == nil && !lid.IsEmpty()
}
