package transcript

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// The transcripts were left by the real CLI.
func TestRecordedTranscripts(t *testing.T) {
	t.Parallel()
	const more = "echo: Output token limit hit. Resume directly — no apology, no recap of what you were doing. Pick up " +
		"mid-thought if that is where the cut happened. Break remaining work into smaller pieces."
	second := "11111111-0000-4000-8000-000000000002"
	for name, tc := range map[string]struct {
		id     string
		want   Status
		text   string
		before []string
	}{
		"tool":             {recordings.First, Answered, "it said hi", []string{"using"}},
		"max_tokens":       {recordings.First, Answered, "the first half " + more, nil},
		"interrupt":        {recordings.First, Unfinished, "", nil},
		"529":              {recordings.First, Unfinished, "", nil},
		"killed_in_answer": {recordings.First, Unfinished, "", nil},
		"killed_in_tool":   {recordings.First, Unfinished, "", []string{"using"}},
		"continued":        {recordings.First, Answered, "echo: [host] go on", []string{"using"}},
		"steered":          {second, Answered, "both done", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := recordings.Transcript(t, name)
			continued, failed := 0, agent.Class(0)
			switch name {
			case "continued":
				data, continued = bytes.ReplaceAll(data, []byte(second), []byte(ContinueID(recordings.First, 1))), 1
			case "529":
				failed = agent.Overloaded
			}
			got, err := recall(bytes.NewReader(data), tc.id)
			if err != nil || got.Status != tc.want || got.Text != tc.text || got.Continued != continued || got.Failed != failed {
				t.Errorf("recall = %+v, %v; want %v, %q", got, err, tc.want, tc.text)
			}
			if !slices.Equal(got.Before, tc.before) {
				t.Errorf("before it stands %q, want %q", got.Before, tc.before)
			}
			if got, err := recall(bytes.NewReader(data), "other"); got.Status != Absent || err != nil {
				t.Errorf("another message is %+v, %v", got, err)
			}
			// A kill can tear the file anywhere: then an answer may be missing, but none is made up.
			for cut := range len(data) {
				if cut%97 != 0 {
					continue
				}
				if torn, err := recall(bytes.NewReader(data[:cut]), tc.id); err != nil || !strings.HasPrefix(got.Text, torn.Text) {
					t.Fatalf("cut at %d: %+v, %v", cut, torn, err)
				}
			}
		})
	}
	steered := recordings.Transcript(t, "steered")
	if got, err := recall(bytes.NewReader(steered), recordings.First); err != nil || len(got.Covered) != 1 || got.Covered[0] != second {
		t.Errorf("recall = %+v, %v; want %s covered", got, err, second)
	}
	// The next message's answer is not this one's.
	data := recordings.Transcript(t, "continued")
	if got, err := recall(bytes.NewReader(data), recordings.First); got.Status != Unfinished || err != nil {
		t.Errorf("an unfinished message with a later one is %+v, %v", got, err)
	}
}

// The names were seen in the CLI's folder of projects.
func TestSlug(t *testing.T) {
	t.Parallel()
	long := "/tmp/scratch/cl/long" + strings.Repeat("/"+strings.Repeat("abcdefghij", 5), 5)
	for dir, want := range map[string]string{
		"/srv/claw/ws":               "-srv-claw-ws",
		"/srv/we ird.dir_x/é":        "-srv-we-ird-dir-x--",
		"/a/we ird.dir_é\U0001d4b3ß": "-a-we-ird-dir-----",
		long: "-tmp-scratch-cl-long-abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij-" +
			"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij-abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij-" +
			"abcdefghijabcdefghijabcdef-9a7gbi",
	} {
		if got := slug(dir); got != want {
			t.Errorf("slug(%q) = %q, want %q", dir, got, want)
		}
	}
}

func TestContinueID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{recordings.First: true}
	for _, message := range []string{recordings.First, "not a uuid"} {
		for attempt := range 5 {
			id := ContinueID(message, attempt)
			if _, err := uuid.Parse(id); err != nil || seen[id] || id != ContinueID(message, attempt) {
				t.Errorf("continueID(%q, %d) = %q: %v", message, attempt, id, err)
			}
			seen[id] = true
		}
	}
}

// Whatever stands in a transcript, it can be read.
func FuzzRecall(f *testing.F) {
	for _, name := range recordings.Streams(f) {
		f.Add(bytes.Join(recordings.Stream(f, name), []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := recall(bytes.NewReader(data), recordings.First); err != nil {
			t.Fatal(err)
		}
	})
}
