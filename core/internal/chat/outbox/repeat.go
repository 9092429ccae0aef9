package outbox

import (
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

// doubles reports whether a message that is sent twice may be seen twice, and its readers are to be told so.
func (c *channel) doubles(plugin *plugins.Plugin) bool {
	return !plugin.Idempotent() && c.outbox.options.Config.Get().Delivery.MarkRepeats
}

// marked returns a message that may have arrived before, with a line that says so: before its text, as the caption of files, or
// before the question of a poll. A message that the line would make too long goes without it.
func (c *channel) marked(plugin *plugins.Plugin, out chat.Outgoing) chat.Outgoing {
	if !c.doubles(plugin) {
		return out
	}
	with := out
	switch {
	case out.Poll != nil:
		poll := *out.Poll
		poll.Question = wording.SentAgain + " " + poll.Question
		with.Poll = &poll
	case out.Text == "":
		with.Text = wording.SentAgain
	default:
		with.Text = wording.SentAgain + "\n\n" + out.Text
	}
	if !plugin.Fits(with) {
		return out
	}
	return with
}
