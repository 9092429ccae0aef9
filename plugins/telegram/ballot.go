package main

import (
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// pollLimits are those of the Bot API that every version of its server accepts.
var pollLimits = chat.PollLimits{
	Options: 10, Question: chat.TextLimit{Max: 300, Unit: chat.UTF16}, Option: chat.TextLimit{Max: 100, Unit: chat.UTF16}, Anonymous: true,
}

// pollStep returns the request that sends a poll.
func pollStep(out chat.Outgoing) step {
	type option struct {
		Text string `json:"text"`
	}
	options := make([]option, len(out.Poll.Options))
	for i, text := range out.Poll.Options {
		options[i] = option{text}
	}
	params := tgbotapi.Params{
		"question": out.Poll.Question, "options": object(options),
		"is_anonymous": strconv.FormatBool(out.Poll.Anonymous), "allows_multiple_answers": strconv.FormatBool(out.Poll.Multiple),
	}
	params.AddBool("disable_notification", out.Silent)
	params.AddNonEmpty("reply_parameters", replyTo(out.ReplyTo))
	return step{params: params, poll: out.Poll}
}
