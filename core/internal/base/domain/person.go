package domain

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// AllowedUser is a person who was let in by pairing, or by an owner's command.
type AllowedUser struct {
	Channel string
	User    chat.UserID
	At      time.Time
}

// Pairing is a stranger's request to be let in.
type Pairing struct {
	Code      string      `json:"code"`
	Channel   string      `json:"channel"`
	User      chat.UserID `json:"user"`
	Name      string      `json:"name"`
	Chat      chat.ID     `json:"chat"`
	CreatedAt time.Time   `json:"created_at,omitzero"`
	ExpiresAt time.Time   `json:"expires_at,omitzero"`
}
