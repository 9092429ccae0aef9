package reply

import (
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
)

// Trouble returns what the chat is told of a turn that failed for good: what happened and what to do, and nothing of the
// host's insides. A rate limit's end is told in the zone; the zero time means that it is not known.
func Trouble(class agent.Class, resetsAt time.Time, zone *time.Location) string {
	switch class {
	case agent.Auth:
		return "Claude is not logged in, or its key is not accepted. " + keeper("log in to Claude again")
	case agent.Billing:
		return "Claude's account has no credit left. " + keeper("look after the billing")
	case agent.RateLimit:
		if resetsAt.IsZero() {
			return "Claude's usage limit is reached for now. Send your message again later."
		}
		return fmt.Sprintf("Claude's usage limit is reached until %s. Send your message again then.", clock(resetsAt.In(zone)))
	case agent.Overloaded:
		return "Claude's servers are overloaded. Send your message again in a few minutes."
	case agent.Server:
		return "Claude's servers failed or could not be reached. Send your message again in a few minutes."
	case agent.Timeout:
		return "Claude took too long, so I ended its work. Send your message again, or ask for less at once."
	case agent.ContextOverflow:
		return "This message is too long for Claude, even in a new conversation. Shorten it, or send it in parts."
	case agent.ContentFilter:
		return "Claude declined to answer this. Put it in other words, or ask for something else; /new begins a new conversation."
	case agent.Model:
		return "The model that is set for Claude is not available. " + keeper("choose another one")
	case agent.Limit:
		return "Claude reached a limit that is set for its work, and ended. Ask for less at once, or say how to go on."
	case agent.Aborted:
		return "The work on this message was stopped. Send it again if it still matters."
	case agent.TranscriptMissing:
		return "Claude has lost our conversation and could not begin a new one. Send /new, then your message again."
	case agent.Unavailable:
		return "Claude cannot be started at the moment. Your message is kept: I go on trying, and answer as soon as I can. /stop drops it."
	case agent.NoRoom:
		return "This machine has no room for files at the moment. Your message is kept: I go on trying, and answer as soon as I can. /stop drops it."
	case agent.ChannelAway:
		return "Your files cannot be fetched while their channel is not running. Your message is kept: I go on trying, and answer as soon as I can. /stop drops it."
	case agent.Refused:
		return "Claude does not run as it is set up here. " + keeper("look into it")
	case agent.Died:
		return "Claude broke down at this message, several times. Put it in other words and send it again. If that does not help, whoever runs clawhost has to look into it."
	case agent.Hook:
		return "A plugin that must prepare each answer is not working. " + keeper("look into it")
	case agent.Intruded:
		return "Another program wrote into this conversation with Claude, so I ended the work. " + keeper("look into it")
	case agent.Unresumable:
		return "Claude breaks down each time it opens our conversation. Send /new to begin a new one, then your message again."
	case agent.GivenUp:
		return "I tried this message several times and was interrupted each time, so I gave it up. Send it again if it still matters."
	default:
		return "Something went wrong, and there is no answer. Send your message again. If that does not help, whoever runs clawhost has to look into it."
	}
}

// Cause returns what the owners are told of a failure that they can fix, and how; false: it is none. The session is the
// host's.
func Cause(class agent.Class, session string) (what, then string, ok bool) {
	switch class {
	case agent.Refused:
		return "Claude refuses to run", "Correct the config, then send your message again.", true
	case agent.Unresumable:
		return "Claude breaks down each time it opens the conversation " + session, "Send /new to begin a new one, then your message again.", true
	default:
		return "", "", false
	}
}

// keeper says what only who runs the host can do.
func keeper(task string) string {
	return fmt.Sprintf("Whoever runs clawhost has to %s; then send your message again.", task)
}

// clock returns the time of day, with the day if it is not today.
func clock(t time.Time) string {
	const day = "2006-01-02"
	if t.Format(day) == time.Now().In(t.Location()).Format(day) {
		return t.Format("15:04 MST")
	}
	return t.Format("15:04 MST on Monday, 2 January")
}
