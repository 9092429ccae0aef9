package main

import (
	"context"
	"regexp"
	"slices"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
)

// named is somebody named in a text, by phone number or hidden id.
var named = regexp.MustCompile(`@\+?[0-9]{6,18}\b`)

// maxNamed is how many people one message may name.
const maxNamed = 50

// mention finds whom a text names, as "@+15551234567" or "@900000000001", and names them as WhatsApp does: their phones
// ring then, and show their names. Whom the device does not know stays as written.
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

// whois finds the hidden address of a number; an answer that the store cannot give is none.
func whois(ctx context.Context, lids store.LIDStore, number string) (types.JID, bool) {
	if number[0] == '+' {
		number = number[1:]
	} else if pn, err := lids.GetPNForLID(ctx, types.NewJID(number, types.HiddenUserServer)); err == nil && !pn.IsEmpty() {
		return types.NewJID(number, types.HiddenUserServer), true
	}
	lid, err := lids.GetLIDForPN(ctx, types.NewJID(number, types.DefaultUserServer))
	return lid.ToNonAD(), err == nil && !lid.IsEmpty()
}
