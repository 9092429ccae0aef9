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

// Ids for the host: a chat and a user are a JID without a device, such as 900000000001@lid. The id of a message of this
// account is WhatsApp's; other messages have a slash and the author after it, which WhatsApp needs to find them.

func chatID(jid types.JID) chat.ID { return chat.ID(jid.ToNonAD().String()) }

// parseChat parses a chat's id, or a phone number as people write it in the config.
func parseChat(id chat.ID) (types.JID, error) {
	if number, ok := strings.CutPrefix(string(id), "+"); ok && phoneShape.MatchString(number) {
		return types.NewJID(number, types.DefaultUserServer), nil
	}
	jid, err := types.ParseJID(string(id))
	if err != nil || jid.User == "" || strings.ContainsAny(jid.User, " /") {
		return types.EmptyJID, errors.New("this is not a WhatsApp chat; one looks like +15551234567 or 900000000001@lid")
	}
	switch jid.Server {
	case types.DefaultUserServer, types.HiddenUserServer, types.GroupServer:
		return jid, nil
	default:
		return types.EmptyJID, errors.New("WhatsApp has no chats at " + jid.Server)
	}
}

// messageID returns the id of a message; an empty author means this account.
func messageID(id types.MessageID, author types.JID) chat.MessageID {
	if author.IsEmpty() {
		return chat.MessageID(id)
	}
	return chat.MessageID(id + "/" + author.ToNonAD().String())
}

// parseMessage parses a message's id; an empty author means this account.
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

// sendID returns the id of the n-th message for a key of the host. The same key gives the same id, so phones show the
// message once.
func sendID(instance, key string, n int) types.MessageID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", instance, key, n))
	return whatsmeow.WebMessageIDPrefix + strings.ToUpper(hex.EncodeToString(sum[:9]))
}
