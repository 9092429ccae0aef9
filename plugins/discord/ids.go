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

// Discord's ids are snowflakes: the time in milliseconds and a count, as a number that rises. A channel, a direct channel
// and a thread have ids of one kind; on the host's side a thread lies in the chat that is its parent channel.

// epoch is the first moment of Discord's clock, in Unix milliseconds.
const epoch = 1420070400000

// snowflake is an id; zero is none.
type snowflake uint64

// parseID is zero for what is no id.
func parseID(s string) snowflake {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return snowflake(n)
}

func (s snowflake) String() string { return strconv.FormatUint(uint64(s), 10) }

// snowflakeAt is the least id of a moment.
func snowflakeAt(t time.Time) snowflake {
	return snowflake(max(0, t.UnixMilli()-epoch)) << 22
}

// snowflakes is by how much ids rise in a while.
func snowflakes(d time.Duration) snowflake { return snowflake(d.Milliseconds()) << 22 }

func messageEvent(id string) chat.EventID { return chat.EventID("dc:" + id) }

// editEvent is told from other edits of the message by its time.
func editEvent(id string, at time.Time) chat.EventID {
	return chat.EventID(fmt.Sprintf("dc:%s:edit:%d", id, at.UnixMicro()))
}

func deleteEvent(id string) chat.EventID { return chat.EventID("dc:" + id + ":delete") }

func interactionEvent(id string) chat.EventID { return chat.EventID("dc:interaction:" + id) }

// gatewayEvent names what has no id of its own by its place in a session, which is the same when the session is resumed.
func gatewayEvent(session string, seq int64) chat.EventID {
	sum := sha256.Sum256([]byte(session))
	return chat.EventID(fmt.Sprintf("dc:gateway:%x:%d", sum[:8], seq))
}

// nonceOf is what Discord knows a message of the outbox again by, of which it is the nth: at most 25 characters.
func nonceOf(key string, nth int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", nth, key))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// target is the channel that a message for an address goes to.
func target(to chat.Address) (string, error) {
	id := string(to.Chat)
	if to.Thread != "" {
		id = string(to.Thread)
	}
	if parseID(id) == 0 {
		return "", network.Refuse(chat.ChatNotFound, "this is no id of a channel of Discord")
	}
	return id, nil
}
