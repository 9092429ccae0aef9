package discordtest

import "unicode/utf8"

// Poll is a poll of the bot.
type Poll struct {
	Question string
	Answers  []string
	Multiple bool
}

// poll is what the bot sends for one.
type poll struct {
	Question pollText `json:"question"`
	Answers  []struct {
		Text pollText `json:"poll_media"`
	} `json:"answers"`
	Hours    int  `json:"duration"`
	Multiple bool `json:"allow_multiselect"`
}

type pollText struct {
	Text string `json:"text"`
}

// wrong reports whether Discord does not take the poll.
func (p poll) wrong() bool {
	for _, a := range p.Answers {
		if n := utf8.RuneCountInString(a.Text.Text); n == 0 || n > 55 {
			return true
		}
	}
	n := utf8.RuneCountInString(p.Question.Text)
	return n == 0 || n > 300 || len(p.Answers) == 0 || len(p.Answers) > 10 || p.Hours < 1 || p.Hours > 32*24
}

func (p poll) shown() *Poll {
	s := &Poll{Question: p.Question.Text, Multiple: p.Multiple}
	for _, a := range p.Answers {
		s.Answers = append(s.Answers, a.Text.Text)
	}
	return s
}
