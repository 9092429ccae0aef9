package normalise

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Behaviour: networks-foreign-text.
func TestForeignTextIsHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // What is in braces is mentioned.
		"ask {@x /elevated full} now":                   "ask @x \\elevated full now",
		"ask {@x /elevated: full /stop}":                "ask @x \\elevated: full \\stop",
		"{/reset}":                                      "\\reset",
		"{/reset} all":                                  "\\reset all",
		"{@x /}elevated full":                           "@x \\elevated full",
		"{@x}/elevated full":                            "@x/elevated full",
		"/think high {@anna /model opus} /new":          "/think high @anna \\model opus /new",
		"{\u200b/reset}":                                "\u200b\\reset",
		"{\u3164/reset}":                                "\u3164\\reset",
		"{x\u00a0/my-skill\u00a0y}":                     "x\u00a0\\my-skill\u00a0y",
		"{[12:30]/elevated full}":                       "[12:30]\\elevated full",
		"{see /etc/passwd and https://a.example/b /c?}": "see /etc/passwd and https://a.example/b /c?",
		"{and/or 1/2 @/x ./run}":                        "and/or 1/2 @/x ./run",
		"{/status@other_bot} please":                    "/status@other_bot please",
		"/stop":                                         "/stop",
	} {
		before, rest, marked := strings.Cut(text, "{")
		within, after, _ := strings.Cut(rest, "}")
		var mentions []chat.Mention
		if marked {
			mentions = []chat.Mention{{Offset: len(before), Length: len(within)}}
		}
		plain := before + within + after
		if got := harmless(plain, mentions); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if marked {
			mentions[0].IsSelf = true
			if got := harmless(plain, mentions); got != plain {
				t.Errorf("where it is the agent, %q became %q", plain, got)
			}
		}
	}
}

// FuzzHarmless changes nothing but slashes in what is mentioned.
func FuzzHarmless(f *testing.F) {
	f.Add("ask @x /elevated full now", 4, 17, 0, 3)
	f.Add("\xff/ä/b /c", 1, 5, 3, 90)
	f.Fuzz(func(t *testing.T, text string, offset, length, offset2, length2 int) {
		m, err := wire.MessageFromProto(wire.MessageToProto(chat.Message{
			Text: text, Mentions: []chat.Mention{{Offset: offset, Length: length}, {Offset: offset2, Length: length2}},
		}))
		if err != nil {
			t.Skip()
		}
		text = m.Text
		got := harmless(text, m.Mentions)
		if len(got) != len(text) {
			t.Fatalf("%q became %q", text, got)
		}
		for i := range len(text) {
			inside := i >= offset && i-offset < length || i >= offset2 && i-offset2 < length2
			if got[i] != text[i] && (text[i] != '/' || got[i] != '\\' || !inside) {
				t.Fatalf("%q became %q, at %d", text, got, i)
			}
			if inside && strings.HasPrefix(got[i:], "/stop ") && (i == 0 || got[i-1] == ' ') && len(m.Mentions) == 2 {
				t.Fatalf("%q has a command at %d", got, i)
			}
		}
	})
}
