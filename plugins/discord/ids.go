package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Discord's ids are snowflakes: the time in milliseconds and a count, as an increasing number. Channels, direct channels
// and threads share one kind of id; for the host a thread belongs to the chat that is its parent channel.

// epoch is the start of Discord's clock, in Unix milliseconds.
const epoch = 1420070400000

// snowflake is an id; zero means no id.
type snowflake uint64

// parseID returns zero for an invalid id.
func parseID(s string) snowflake {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return snowflake(n)
}

func (s snowflake) String() string { return strconv.FormatUint(uint64(s), 10) }

// snowflakeAt returns the smallest id of a time.
func snowflakeAt(t time.Time) snowflake {
	return snowflake(max(0, t.UnixMilli()-epoch)) << 22
}

// snowflakes returns by how much ids increase in a duration.
func snowflakes(d time.Duration) snowflake { return snowflake(d.Milliseconds()) << 22 }

func messageEvent(id string) chat.EventID { return chat.EventID("dc:" + id) }

// editEvent distinguishes the edits of a message by their time.
func editEvent(id string, at time.Time) chat.EventID {
	return chat.EventID(fmt.Sprintf("dc:%s:edit:%d", id, at.UnixMicro()))
}

func deleteEvent(id string) chat.EventID { return chat.EventID("dc:" + id + ":delete") }

func interactionEvent(id string) chat.EventID { return chat.EventID("dc:interaction:" + id) }

// gatewayEvent identifies an event without an id by its number in a session, which stays the same when the session is
// resumed.
func gatewayEvent(session string, seq int64) chat.EventID {
	sum := sha256.Sum256([]byte(session))
	return chat.EventID(fmt.Sprintf("dc:gateway:%x:%d", sum[:8], seq))
}

// nonceOf returns the nonce by which Discord recognises the nth message of an outbox item: at most 25 characters.
func nonceOf(key string, nth int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", nth, key))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// target returns the channel for an address.
func target(to chat.Address) (string, error) {
	id := string(to.Chat)
	if to.Thread != "" {
		id = string(to.Thread)
	}
	if parseID(id) == 0 {
		return "", network.Refuse(chat.ChatNotFound, "this is not the id of a Discord channel")
	}
	return id, nil
}
