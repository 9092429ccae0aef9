package turn_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
)

// notices are what a chat gets for a failure of each class.
var notices = map[agent.Class]string{
	agent.Unknown:           "Something went wrong, and there is no answer. Send your message again. If that does not help, ask the operator to look into it.",
	agent.Auth:              "Claude is not logged in, or its key is not accepted. Ask the operator to log in to Claude again, then send your message again.",
	agent.Billing:           "Claude's account has no credit left. Ask the operator to check the billing, then send your message again.",
	agent.RateLimit:         "Claude's usage limit is reached for now. Send your message again later.",
	agent.Overloaded:        "Claude's servers are overloaded. Send your message again in a few minutes.",
	agent.Server:            "Claude's servers failed or could not be reached. Send your message again in a few minutes.",
	agent.TimeUp:            "Claude took too long, so I ended its work. Send your message again, or ask for less at once.",
	agent.Timeout:           "Claude took too long, so I ended its work. Send your message again, or ask for less at once.",
	agent.ContextOverflow:   "This message is too long for Claude, even in a new conversation. Shorten it, or send it in parts.",
	agent.ContentFilter:     "Claude declined to answer this. Put it in other words, or ask for something else; /new begins a new conversation.",
	agent.Model:             "The model that is set for Claude is not available. Ask the operator to choose another one, then send your message again.",
	agent.Limit:             "Claude reached a limit that is set for its work, and ended. Ask for less at once, or say how to go on.",
	agent.Aborted:           "The work on this message was stopped. Send it again if it still matters.",
	agent.TranscriptMissing: "Claude has lost our conversation and could not begin a new one. Send /new, then your message again.",
	agent.Unavailable:       "Claude cannot be started at the moment. Your message is kept: I keep trying, and answer as soon as I can. /stop drops it.",
	agent.NoSpace:           "This machine has no space for files at the moment. Your message is kept: I keep trying, and answer as soon as I can. /stop drops it.",
	agent.Refused:           "Claude does not run as it is set up here. Ask the operator to look into it, then send your message again.",
	agent.Died:              "Claude crashed on this message several times. Put it in other words and send it again. If that does not help, ask the operator to look into it.",
	agent.Hook:              "A plugin that must prepare each answer is not working. Ask the operator to look into it, then send your message again.",
	agent.Rejected:          "Claude's servers do not accept this message, even in a new conversation. Put it in other words, or send it without its files. If that does not help, ask the operator to look into it.",
	agent.Unresumable:       "Claude crashes each time it opens our conversation. Send /new to begin a new one, then your message again.",
	agent.Intruded:          "Another program wrote into this conversation with Claude, so I ended the work. Ask the operator to look into it, then send your message again.",
	agent.Opened:            "This conversation is open in a terminal, or in another program, so I have not answered: one of us would not know what the other one said. Close it there and write your message again, or write it after `/fork`, which continues here in a copy.",
	agent.GivenUp:           "I tried this message several times and was interrupted each time, so I gave it up. Send it again if it still matters.",
}

// A chat gets a notice of each failure, which says what happened and what to do, and nothing that only an operator can understand.
// Behaviour: failure-told.
func TestEachFailureIsTold(t *testing.T) {
	t.Parallel()
	insides := regexp.MustCompile(`(?i)api|http|[45]\d\d|error|exit|stderr|token|transcript|context|session|process|sqlite|_`)
	for class := range agent.Class(50) {
		want, told := notices[class]
		switch {
		case class.String() == agent.Unknown.String() && class != agent.Unknown, class == agent.ChannelAway: // nobody gets the latter
			continue
		case !told:
			t.Errorf("there is no notice for %v", class)
			continue
		}
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t)
				r.plays(fails(class))
				r.accept(t, message("hello"))
				r.run(t)
				time.Sleep(time.Hour)
				got, _ := r.told(t)
				if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], want) || insides.MatchString(want) {
					t.Errorf("the chat is told %q, want %q", got, want)
				}
			})
		})
	}
}

func TestAChatIsToldWhenALimitEnds(t *testing.T) {
	t.Parallel()
	est, tokyo := time.FixedZone("EST", -5*60*60), time.FixedZone("JST", 9*60*60)
	for _, test := range []struct {
		in   time.Duration
		zone *time.Location
		when string
	}{
		{8*time.Hour + 33*time.Minute, time.UTC, "08:33 UTC"},
		{4 * time.Hour, est, "23:00 EST"},
		{6 * time.Hour, est, "01:00 EST on Saturday, 1 January"},
		{14 * time.Hour, tokyo, "23:00 JST"},
		{30 * time.Hour, time.UTC, "06:00 UTC on Sunday, 2 January"},
		{24 * time.Hour * 366, time.UTC, "00:00 UTC on Monday, 1 January"},
	} {
		synctest.Test(t, func(t *testing.T) { // It is midnight UTC, 2000-01-01, a Saturday.
			r := open(t, func(c *config.Config) { c.Agent.Timezone, c.Limits.OnUsageLimit = test.zone, "fail" })
			r.plays(limited(test.in))
			r.do(t, message("hello"))
			if got, want := r.said(t), "Claude's usage limit is reached until "+test.when+". Send your message again then."; got != want {
				t.Errorf("in %v: %q, want %q", test.in, got, want)
			}
		})
	}
}
