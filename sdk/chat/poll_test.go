package chat_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
)

func TestPollLimits(t *testing.T) {
	t.Parallel()
	limits := chat.PollLimits{Options: 3, Question: chat.TextLimit{Max: 10, Unit: chat.Runes}, Option: chat.TextLimit{Max: 5, Unit: chat.Runes}}
	free := chat.PollLimits{Options: 3, Anonymous: true}
	long := strings.Repeat("é", 11)
	for name, test := range map[string]struct {
		limits chat.PollLimits
		poll   chat.Poll
		fits   bool
	}{
		"a poll":                      {limits, chat.Poll{Question: "Where to?é", Options: []string{"a", "bbbbé", "c"}, Multiple: true}, true},
		"no polls":                    {chat.PollLimits{}, chat.Poll{Question: "Where?", Options: []string{"a", "b"}}, false},
		"one option":                  {limits, chat.Poll{Question: "Where?", Options: []string{"a"}}, false},
		"too many options":            {limits, chat.Poll{Question: "Where?", Options: []string{"a", "b", "c", "d"}}, false},
		"the same option twice":       {limits, chat.Poll{Question: "Where?", Options: []string{"a", "a"}}, false},
		"an empty option":             {limits, chat.Poll{Question: "Where?", Options: []string{"a", ""}}, false},
		"a long option":               {limits, chat.Poll{Question: "Where?", Options: []string{"a", "bbbbbb"}}, false},
		"no question":                 {limits, chat.Poll{Options: []string{"a", "b"}}, false},
		"a long question":             {limits, chat.Poll{Question: long, Options: []string{"a", "b"}}, false},
		"an anonymous one":            {limits, chat.Poll{Question: "Where?", Options: []string{"a", "b"}, Anonymous: true}, false},
		"texts of any length, hidden": {free, chat.Poll{Question: long, Options: []string{long, "b"}, Anonymous: true}, true},
	} {
		if err := test.limits.Check(test.poll); (err == nil) != test.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
