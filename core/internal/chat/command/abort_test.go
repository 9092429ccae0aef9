package command_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/chat/command"
)

// Behaviour: stop-word.
func TestIsAbort(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"stop", "STOP!!!", " Stop. ", "esc", "abort", "exit", "interrupt", "halt", "please stop", "Stop, please!", "stop it", "stop now", "“stop”", "**stop**", "stop 🛑", "stop\n", "Stop! Stop!",
		"arrête", "Arrête !", "arre\u0302te", "arrête-toi", "stopp", "Aufhören!", "hör auf", "ho\u0308r auf", "para", "¡Para!", "detente", "deténte", "pare", "chega!",
		"стоп", "СТОП!", "остановись", "сто\u0438\u0306", "停", "停止。", "停下来！", "やめて", "止めて。", "ストップ", "रुको", "रुक जाओ", "बंद करो", "توقف", "قف!", "أوقف",
	} {
		if !command.IsAbort(text) {
			t.Errorf("%q does not stop", text)
		}
	}
	for _, text := range []string{
		"", " ", "!", "wait", "no", "stop the server", "don't stop", "stopper", "how do I stop it?", "/stop", "/abort", " /exit", "stop stop stop stop", "停电", "para que", "a.stop()", "\xffstop",
		"please", "now", "1",
	} {
		if command.IsAbort(text) {
			t.Errorf("%q stops", text)
		}
	}
}

// Whatever stands around a word that stops, and whatever its case: it stops.
// Behaviour: stop-word.
func TestAbortIsCarelessOfPunctuation(t *testing.T) {
	t.Parallel()
	around := rapid.StringMatching(`[ !.,;:?*_~"'“”()\[\]-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"stop", "Abort", "PLEASE STOP", "стоп", "停止"}).Draw(t, "word")
		if text := around.Draw(t, "before") + word + around.Draw(t, "after"); !command.IsAbort(text) {
			t.Errorf("%q does not stop", text)
		}
	})
}

// Behaviour: stop-word.
func FuzzIsAbort(f *testing.F) {
	f.Add("please stop!")
	f.Fuzz(func(t *testing.T, text string) {
		if command.IsAbort(text) && (len(text) > 100 || text[0] == '/') {
			t.Errorf("%q stops", text)
		}
	})
}

// Behaviour: new-model.
func TestResetHint(t *testing.T) {
	t.Parallel()
	r := (&hostCommands{}).registry()
	none := ""
	for rest, want := range map[string]struct {
		model *string
		text  string
	}{
		"":                              {},
		"opus summarise this":           {new("opus"), "summarise this"},
		"Opus: summarise this":          {new("opus"), "summarise this"},
		"fast\nsummarise\n  this":       {new("fast"), "summarise\n  this"},
		"BIG":                           {new("Big"), ""},
		"default hello":                 {&none, "hello"},
		"fable tell me":                 {new("fable"), "tell me"},
		"claude-opus-4-8[1m] go":        {new("claude-opus-4-8[1m]"), "go"},
		"acme.claude-7 go":              {new("acme.claude-7"), "go"},
		"claude what do you think?":     {nil, "claude what do you think?"},
		"claude- go":                    {nil, "claude- go"},
		"claude-\u00e9 go":              {nil, "claude-\u00e9 go"},
		"claude-x;rm go":                {nil, "claude-x;rm go"},
		"gpt-5 go":                      {nil, "gpt-5 go"},
		" summarise opus by somebody  ": {nil, "summarise opus by somebody"},
		"--model opus":                  {nil, "--model opus"},
	} {
		model, text := r.ResetHint(rest)
		if diff := cmp.Diff(want.model, model); diff != "" || text != want.text {
			t.Errorf("%q is %q, want %q, and the model %s", rest, text, want.text, diff)
		}
	}
}
