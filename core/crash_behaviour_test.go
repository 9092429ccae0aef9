package core_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// unanswered is how many messages a person writes ahead of the answers.
const unanswered = 5

// chatty writes messages that are echoed.
type chatty struct{}

var number = regexp.MustCompile(`number-(\d+)-`)

func (chatty) says(n int) string { return fmt.Sprintf("number-%d-", n) }

func (chatty) ahead() int { return unanswered }

func (chatty) hears(text string) ([]int, []line, error) {
	n, err := numberIn(number, text)
	if err != nil {
		return nil, nil, err
	}
	return []int{n}, nil, nil
}

func (chatty) problems(int) []string { return nil }

// beginner begins a new conversation with every other message, so most run in a spare process.
type beginner struct{ chatty }

func (beginner) says(n int) string {
	if n%2 == 0 {
		return "/new " + chatty{}.says(n)
	}
	return chatty{}.says(n)
}

func numberIn(pattern *regexp.Regexp, text string) (int, error) {
	found := pattern.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("an answer to nothing: %q", text)
	}
	return strconv.Atoi(found[1])
}

// reader asks for stories, which come in several messages in sequence, and reads each to its end.
type reader struct{ read strings.Builder }

const storyParts = 5

var ending = regexp.MustCompile(`The end of story (\d+)\.`)

func story(n int) string {
	var parts []string
	for i := range storyParts {
		parts = append(parts, fmt.Sprintf("Part %d of story %d goes on and on, with so many words that it is sent by itself.", i+1, n))
	}
	return strings.Join(append(parts, fmt.Sprintf("The end of story %d.", n)), "\n\n")
}

func (*reader) says(n int) string {
	return fmt.Sprintf(`[[stub {"token_delay_ms": 3, "answer": %q}]] tell me story %d`, story(n), n)
}

func (*reader) ahead() int { return unanswered }

func (r *reader) hears(text string) (answered []int, _ []line, _ error) {
	text = strings.TrimPrefix(text, wording.Continued)
	r.read.WriteString(strings.TrimPrefix(text, strings.Trim(wording.Continued, "_"))) // as plain text, which echo is given
	for _, found := range ending.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return nil, nil, err
		}
		answered = append(answered, n)
	}
	return answered, nil, nil
}

// problems compares all that was read with all that should be there. How it was cut leaves out blanks.
func (r *reader) problems(sent int) []string {
	var expected strings.Builder
	for n := range sent {
		expected.WriteString(story(n + 1))
	}
	want, got := squeeze(expected.String()), squeeze(r.read.String())
	if want == got {
		return nil
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	return []string{fmt.Sprintf("the stories differ at byte %d: %q, want %q", at, excerpt(got, at), excerpt(want, at))}
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

func excerpt(text string, at int) string { return text[max(0, at-60):min(len(text), at+120)] }

// asker has claude do things that it asks leave for, and gives it to some of them.
type asker struct {
	home   string      // where the things are done
	leaves map[int]int // how often leave was given for each
	asked  map[string]bool
}

var (
	questionID = regexp.MustCompile(`/answer ([A-Z2-9]{5})`)
	asking     = regexp.MustCompile(`echo (\d+) >>`)
	finished   = regexp.MustCompile(`finished-(\d+)-`)
)

// late reports whether a text says that an answer came when its question was closed.
func late(text string) bool {
	return strings.HasPrefix(text, wording.QuestionClosed) || strings.HasPrefix(text, wording.NoQuestion)
}

// settled reports whether a text says how a question ended, which those who were asked learn where messages cannot be edited.
func settled(text string) bool {
	return strings.Contains(text, "✅") || strings.Contains(text, " denied: ") || strings.HasPrefix(text, "This answer came too late")
}

// copied reports whether a text asks an owner about the turn of somebody else.
func copied(text string) bool {
	return questionID.MatchString(text) && (choosing.MatchString(text) || strings.Contains(text, ", working for "))
}

// deputy is an owner who is asked about the turns of others, besides what they write themselves, and refuses some of it.
type deputy struct {
	chatty

	asked map[string]bool
}

func newDeputy() *deputy { return &deputy{asked: map[string]bool{}} }

func (d *deputy) hears(text string) ([]int, []line, error) {
	switch id := questionID.FindStringSubmatch(text); {
	case id == nil && (late(text) || settled(text)):
		return nil, nil, nil
	case id == nil:
		return d.chatty.hears(text)
	case !copied(text) || d.asked[id[1]]:
		return nil, nil, fmt.Errorf("asked again, or for nothing: %q", text)
	default:
		d.asked[id[1]] = true
		if !asking.MatchString(text) || len(d.asked)%3 != 0 {
			return nil, nil, nil
		}
		return nil, []line{{id: "no-" + id[1], text: "/answer " + id[1] + " no"}}, nil
	}
}

// problems reports whether nobody has asked them.
func (d *deputy) problems(int) []string {
	if len(d.asked) == 0 {
		return []string{"was never asked"}
	}
	return nil
}

func newAsker(home string) *asker {
	return &asker{home: home, leaves: map[int]int{}, asked: map[string]bool{}}
}

func (*asker) says(n int) string {
	return fmt.Sprintf(`[[stub {"tool": "echo %d >> $HOME/done", "ask": true, "again": true, "crash": "orphaned", "answer": "finished-%d-"}]] do it`, n, n)
}

func (*asker) ahead() int { return 1 }

func (a *asker) hears(text string) (answered []int, replies []line, err error) {
	if copied(text) || settled(text) {
		return nil, nil, nil
	}
	if id := questionID.FindStringSubmatch(text); id != nil {
		n, err := numberIn(asking, text)
		if err != nil || a.asked[id[1]] {
			return nil, nil, fmt.Errorf("asked again, or for nothing: %q", text)
		}
		a.asked[id[1]] = true
		word := "no"
		if n%3 != 0 {
			word = "once"
			a.leaves[n]++
		}
		return nil, []line{{id: "answer-" + id[1], text: "/answer " + id[1] + " " + word}}, nil
	}
	if late(text) {
		return nil, nil, nil
	}
	n, err := numberIn(finished, text)
	return []int{n}, nil, err
}

// problems counts what was done, which is never more than there was leave for.
func (a *asker) problems(int) (found []string) {
	written, err := os.ReadFile(a.home + "/done")
	if err != nil {
		return []string{fmt.Sprintf("nothing was done: %v", err)}
	}
	times := map[int]int{}
	for _, field := range bytes.Fields(written) {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return []string{fmt.Sprintf("something else was done: %q", field)}
		}
		if times[n]++; times[n] > a.leaves[n] {
			found = append(found, fmt.Sprintf("%d was done %d times, with leave for %d", n, times[n], a.leaves[n]))
		}
	}
	return found
}

// chooser is asked what they would have, and says it in words of their own, each time in others.
type chooser struct {
	asked, expected map[string]bool
	again           *line // what answers the last question once more, should it still be open
}

var (
	choosing = regexp.MustCompile(`Which (\d+)\?`)
	chosen   = regexp.MustCompile(`chosen-(\d+)-`)
	wish     = regexp.MustCompile(`(?:wish|again)-(\d+)-[A-Z2-9]{5}`)
)

func newChooser() *chooser { return &chooser{asked: map[string]bool{}, expected: map[string]bool{}} }

func (*chooser) says(n int) string {
	return fmt.Sprintf(`[[stub {"questions": [{"question": "Which %d?", "options": [{"label": "One"}, {"label": "Another"}]}], "again": true, "crash": "orphaned", "say": "$OUTPUT chosen-%d-"}]] have me choose`, n, n)
}

func (*chooser) ahead() int { return 1 }

func (c *chooser) hears(text string) (answered []int, replies []line, err error) {
	if settled(text) {
		return nil, nil, nil
	}
	if id := questionID.FindStringSubmatch(text); id != nil {
		n, err := numberIn(choosing, text)
		if err != nil || c.asked[id[1]] {
			return nil, nil, fmt.Errorf("asked again, or for nothing: %q", text)
		}
		c.asked[id[1]] = true
		c.again = &line{id: "again-" + id[1], text: fmt.Sprintf("/answer %s the one of again-%d-%s, please", id[1], n, id[1])}
		return nil, []line{{id: "wish-" + id[1], text: fmt.Sprintf("the one of wish-%d-%s, please", n, id[1])}}, nil
	}
	if late(text) {
		return nil, nil, nil
	}
	// A wish that arrives between two tries is a message, and the question is still open when the next try asks it.
	if strings.HasPrefix(text, wording.QuestionStillOpen) {
		if c.again != nil {
			replies, c.again = []line{*c.again}, nil
		}
		return nil, replies, nil
	}
	said := wish.FindStringSubmatch(text)
	if said == nil || c.expected[said[0]] {
		return nil, nil, fmt.Errorf("nothing of what was wished, or for the second time: %q", text)
	}
	c.expected[said[0]] = true
	if !chosen.MatchString(text) {
		return nil, nil, nil // it came too late, and was a message
	}
	n, err := numberIn(chosen, text)
	if err == nil && said[1] != strconv.Itoa(n) {
		err = fmt.Errorf("a wish for something else: %q", text)
	}
	return []int{n}, nil, err
}

func (*chooser) problems(int) []string { return nil }
