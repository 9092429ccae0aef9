package main

import (
	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// pollLimits are Discord's.
var pollLimits = chat.PollLimits{
	Options: 10, Question: chat.TextLimit{Max: 300, Unit: chat.UTF16}, Option: chat.TextLimit{Max: 55, Unit: chat.UTF16},
}

// pollHours is how long people can vote.
const pollHours = 7 * 24

// ballot returns a poll in Discord's format.
func ballot(p chat.Poll) *discordgo.Poll {
	b := &discordgo.Poll{
		Question: discordgo.PollMedia{Text: p.Question}, AllowMultiselect: p.Multiple,
		LayoutType: discordgo.PollLayoutTypeDefault, Duration: pollHours,
	}
	for _, option := range p.Options {
		b.Answers = append(b.Answers, discordgo.PollAnswer{Media: &discordgo.PollMedia{Text: option}})
	}
	return b
}
