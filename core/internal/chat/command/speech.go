package command

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

var speaking = setting{
	name:  "tts",
	field: func(o *domain.Overrides) *string { return &o.TTS }, now: func(c *conversation.Conversation) string { return c.Speech },
	choices: []choice{
		{word: "off", also: []string{"no", "false", "0"}, value: "off"},
		{word: "inbound", also: []string{"voice"}, value: "inbound"},
		{word: "always", also: []string{"on", "yes", "true", "1"}, value: "always"},
		{word: "tagged", value: "tagged"},
	},
}

// speech shows or sets which answers are spoken, if a text-to-speech command is configured.
func (d hostCommands) speech(ctx context.Context, call Call) (string, error) {
	if !d.host.Speech {
		return wording.NoSpeech, nil
	}
	if strings.EqualFold(strings.TrimSpace(call.Args), "status") {
		call.Args = ""
	}
	return d.choose(ctx, call, speaking)
}
