package main

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// say adds a voice message.
func (s shelf) say(content []byte) chat.Media {
	m := s.put("speech.ogg", "audio/ogg; codecs=opus", len(content))
	m.Kind = chat.Voice
	s[m.Ref] = book{m, bytes.NewReader(content)}
	return m
}

// second is a voice message of a second, the half of it quiet.
func second() []byte {
	return sdktest.Opus(slices.Concat(slices.Repeat([]int{10}, 25), slices.Repeat([]int{100}, 25))...)
}

// shown is a message in short: its kind, its text, its files and what more it has.
func shown(m discordtest.Message) string {
	parts := []string{"message", m.Text}
	if m.Voice != nil {
		parts[0] = "voice"
	}
	for _, f := range m.Files {
		parts = append(parts, f.Name)
	}
	if m.ReplyTo != "" {
		parts = append(parts, "a reply")
	}
	if m.Silent {
		parts = append(parts, "silent")
	}
	if len(m.Buttons) > 0 {
		parts = append(parts, "with buttons")
	}
	return strings.Join(parts, ", ")
}

func allShown(list []discordtest.Message) (all []string) {
	for _, m := range list {
		all = append(all, shown(m))
	}
	return all
}

// cutBehind lets so many requests through and loses the answer to the next.
func cutBehind(requests int) discordtest.Fault {
	passed := 0
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if passed++; passed <= requests {
			next.ServeHTTP(w, r)
			return
		}
		discordtest.CutAfter()(w, r, next)
	}
}

// TestVoices are messages of their own, behind the text and between the other files.
// Behaviour: discord-voice.
func TestVoices(t *testing.T) {
	t.Parallel()
	buttons := [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	for name, test := range map[string]struct {
		out  func(shelf) chat.Outgoing
		want []string
	}{
		"alone": {
			func(s shelf) chat.Outgoing { return chat.Outgoing{Media: []chat.Media{s.say(second())}} },
			[]string{"voice, , speech.ogg, a reply"},
		},
		"with a text": {
			func(s shelf) chat.Outgoing {
				return chat.Outgoing{Text: "said", Buttons: buttons, Silent: true, Media: []chat.Media{s.say(second())}}
			},
			[]string{"message, said, a reply, silent, with buttons", "voice, , speech.ogg, silent"},
		},
		"between files": {
			func(s shelf) chat.Outgoing {
				return chat.Outgoing{Text: "all", Media: []chat.Media{
					s.put("a", "", 1), s.put("b", "", 1), s.say(second()), s.say(second()), s.put("c", "", 1), s.put("d", "", 1),
				}}
			},
			[]string{"message, all, a, b, a reply", "voice, , speech.ogg", "voice, , speech.ogg", "message, , c, d"},
		},
		"with buttons": { // which a voice message cannot have
			func(s shelf) chat.Outgoing {
				return chat.Outgoing{Buttons: buttons, Media: []chat.Media{s.say(second())}}
			},
			[]string{"message, , speech.ogg, a reply, with buttons"},
		},
		"no Ogg Opus": {
			func(s shelf) chat.Outgoing {
				return chat.Outgoing{Text: "said", Media: []chat.Media{s.say([]byte("ID3 a song")), s.put("a", "", 1)}}
			},
			[]string{"message, said, a reply", "message, , speech.ogg", "message, , a"},
		},
		"no sound by its type": {
			func(s shelf) chat.Outgoing {
				m := s.say(second())
				s[m.Ref] = book{chat.Media{Kind: chat.Voice, MIMEType: "application/ogg", FileName: "speech.ogg", Size: m.Size}, bytes.NewReader(second())}
				return chat.Outgoing{Media: []chat.Media{m}}
			},
			[]string{"message, , speech.ogg, a reply"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, files := sender(t)
			out := test.out(files)
			out.Key, out.To, out.ReplyTo = "k", chat.Address{Chat: "70"}, chat.MessageID(s.Say("70", "7", "speak"))
			for nth := range len(test.want) { // The connection breaks behind each; the same key is the same messages.
				s.Fail(http.MethodPost, "/messages", nth+1, cutBehind(nth))
				if _, err := c.Send(t.Context(), out); err == nil {
					t.Fatal("a lost answer is no error")
				}
			}
			requests := 0
			s.Fail(http.MethodPost, "/messages", 100, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				requests++
				next.ServeHTTP(w, r)
			})
			receipt, err := c.Send(t.Context(), out)
			if err != nil || requests != len(test.want) {
				t.Fatalf("%d requests, %v", requests, err)
			}
			got := s.Replies("70")
			if diff := cmp.Diff(test.want, allShown(got)); diff != "" {
				t.Error(diff)
			}
			for i, m := range got {
				if i >= len(receipt.IDs) || receipt.IDs[i] != chat.MessageID(m.ID) {
					t.Errorf("the receipt is %q, message %d is %s", receipt.IDs, i, m.ID)
				}
				if m.Voice == nil {
					continue
				}
				want := discordtest.Voice{Seconds: 1, Waveform: []byte{26, 26, 26, 26, 26, 255, 255, 255, 255, 255}}
				if diff := cmp.Diff(want, *m.Voice); diff != "" || m.NoPreviews || !bytes.Equal(m.Files[0].Content, second()) {
					t.Errorf("the voice, of %d bytes, is shown otherwise: %s", len(m.Files[0].Content), diff)
				}
			}
		})
	}
}

// TestVoicesThatDiscordRefuses come as files, once.
// Behaviour: discord-voice.
func TestVoicesThatDiscordRefuses(t *testing.T) {
	t.Parallel()
	for _, code := range []int{50159, 50160, 50161, 50035, 0} {
		s, c, files := sender(t)
		if s.Fail(http.MethodPost, "/messages", 1, discordtest.Refuse(http.StatusBadRequest, code, "no voice")); code == 0 {
			s.Heal()
			s.ForbidVoices("70")
		}
		out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Media: []chat.Media{files.say(second())}}
		for range 2 {
			if _, err := c.Send(t.Context(), out); err != nil {
				t.Errorf("code %d: %v", code, err)
			}
		}
		if diff := cmp.Diff([]string{"message, , speech.ogg"}, allShown(s.Replies("70"))); diff != "" {
			t.Errorf("code %d: %s", code, diff)
		}
	}
	s, c, files := sender(t)
	s.Fail(http.MethodPost, "/messages", 1, discordtest.Refuse(http.StatusForbidden, 50013, "Missing Permissions"))
	_, err := c.Send(t.Context(), chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Media: []chat.Media{files.say(second())}})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Forbidden || len(s.Replies("70")) != 0 {
		t.Errorf("what is refused for another reason gives %v", err)
	}
}

// TestVoicesThatTheHostDoesNotGive fail as other files do, and are not taken for what is no voice.
func TestVoicesThatTheHostDoesNotGive(t *testing.T) {
	t.Parallel()
	s, c, files := sender(t)
	gone, broken := files.say(second()), files.say(second())
	delete(files, gone.Ref)
	files[broken.Ref] = book{broken, iotest.ErrReader(errors.New("the host went away"))}
	for _, test := range []struct {
		m    chat.Media
		want chat.Reason
	}{{gone, chat.MediaRejected}, {broken, chat.Temporary}} {
		_, err := c.Send(t.Context(), chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Media: []chat.Media{test.m}})
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != test.want || f.MaybeDelivered {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if n := len(s.Replies("70")); n != 0 {
		t.Errorf("%d messages came", n)
	}
}

// TestWaveforms have a point for each tenth of a second.
// Behaviour: discord-voice.
func TestWaveforms(t *testing.T) {
	t.Parallel()
	for packets, want := range map[int]int{1: 1, 5: 1, 6: 2, 50: 10, 1275: 255, 1281: 256, 5000: 256} {
		s, c, files := sender(t)
		m := files.say(sdktest.Opus(slices.Repeat([]int{20}, packets)...))
		if _, err := c.Send(t.Context(), chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Media: []chat.Media{m}}); err != nil {
			t.Fatal(err)
		}
		if voice := s.Replies("70")[0].Voice; voice == nil || len(voice.Waveform) != want || voice.Seconds != float64(packets)/50 {
			t.Errorf("%d packets: %+v", packets, voice)
		}
	}
}

// TestVoicesCannotBeEdited: the host sends the new content as a new message.
func TestVoicesCannotBeEdited(t *testing.T) {
	t.Parallel()
	_, c, files := sender(t)
	to := chat.Address{Chat: "70"}
	receipt, err := c.Send(t.Context(), chat.Outgoing{Key: "k", To: to, Media: []chat.Media{files.say(second())}})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Edit(t.Context(), to, receipt.IDs[0], "changed", nil)
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Invalid {
		t.Errorf("got %v", err)
	}
}
