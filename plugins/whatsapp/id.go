package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Ids as the host sees them: a chat and a user are a JID without a device, such as 900000000001@lid. A message of this
// account is WhatsApp's id; another one has its author behind a slash, whom WhatsApp needs to find it.

func chatID(jid types.JID) chat.ID { return chat.ID(jid.ToNonAD().String()) }

// parseChat reads a chat's id, and a phone number as people write it: so the config may name one.
func parseChat(id chat.ID) (types.JID, error) {
	if number, ok := strings.CutPrefix(string(id), "+"); ok && phoneShape.MatchString(number) {
		return types.NewJID(number, types.DefaultUserServer), nil
	}
	jid, err := types.ParseJID(string(id))
	if err != nil || jid.User == "" || strings.ContainsAny(jid.User, " /") {
		return types.EmptyJID, errors.New("this is no WhatsApp chat; one looks like +15551234567 or 900000000001@lid")
	}
	switch jid.Server {
	case types.DefaultUserServer, types.HiddenUserServer, types.GroupServer:
		return jid, nil
	default:
		return types.EmptyJID, errors.New("WhatsApp has no chats at " + jid.Server)
	}
}

// messageID names a message of somebody; an empty author is this account.
func messageID(id types.MessageID, author types.JID) chat.MessageID {
	if author.IsEmpty() {
		return chat.MessageID(id)
	}
	return chat.MessageID(id + "/" + author.ToNonAD().String())
}

// parseMessage takes a message's id apart; an empty author is this account.
func parseMessage(id chat.MessageID) (types.MessageID, types.JID, error) {
	plain, author, others := strings.Cut(string(id), "/")
	if plain == "" {
		return "", types.EmptyJID, errors.New("a message's id is empty")
	}
	if !others {
		return plain, types.EmptyJID, nil
	}
	jid, err := types.ParseJID(author)
	return plain, jid, err
}

// sendID is the id of a message that the host sends under a key, the n-th one. The same key gives the same id, by which
// the phones show it once.
func sendID(instance, key string, n int) types.MessageID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", instance, key, n))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:9]))
}
