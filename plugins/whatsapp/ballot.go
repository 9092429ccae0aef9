package main

import (
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/clawhost/clawhost/sdk/chat"
)

// pollLimits are those of WhatsApp's apps.
var pollLimits = chat.PollLimits{
	Options: 12, Question: chat.TextLimit{Max: 255, Unit: chat.UTF16}, Option: chat.TextLimit{Max: 100, Unit: chat.UTF16},
}

// ballot returns a poll in WhatsApp's format.
func ballot(client *whatsmeow.Client, p chat.Poll) *waE2E.Message {
	selectable := 1
	if p.Multiple {
		selectable = 0 // any number
	}
	return client.BuildPollCreation(p.Question, p.Options, selectable)
}
