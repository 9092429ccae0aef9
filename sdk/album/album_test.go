package album_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/album"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// TestJoin joins the messages of an album.
func TestJoin(t *testing.T) {
	t.Parallel()
	photo, video := chat.Media{Kind: chat.Image}, chat.Media{Kind: chat.Video}
	quote, forward := &chat.Quote{ID: "1"}, &chat.Forward{From: "Berta"}
	for name, c := range map[string]struct {
		parts []chat.Message
		want  chat.Message
	}{
		"without a caption": {
			[]chat.Message{{ID: "1", Media: []chat.Media{photo}}, {ID: "2", Media: []chat.Media{video}}},
			chat.Message{ID: "1", Media: []chat.Media{photo, video}},
		},
		"the caption names the bot": {
			[]chat.Message{
				{ID: "1", Media: []chat.Media{photo}},
				{ID: "2", Text: "hi @bot", Media: []chat.Media{photo}, MentionsSelf: true, Mentions: []chat.Mention{{Offset: 3, Length: 4, IsSelf: true}}},
			},
			chat.Message{
				ID: "2", Text: "hi @bot", Media: []chat.Media{photo, photo}, MentionsSelf: true, Mentions: []chat.Mention{{Offset: 3, Length: 4, IsSelf: true}},
			},
		},
		"several captions": {
			[]chat.Message{
				{ID: "1", Text: "éins @a", Media: []chat.Media{photo}, Mentions: []chat.Mention{{Offset: 6, Length: 2}}},
				{ID: "2", Media: []chat.Media{photo}},
				{ID: "3", Text: "@b", Media: []chat.Media{photo}, Mentions: []chat.Mention{{Length: 2}}},
			},
			chat.Message{
				ID: "1", Text: "éins @a\n@b", Media: []chat.Media{photo, photo, photo}, Mentions: []chat.Mention{{Offset: 6, Length: 2}, {Offset: 9, Length: 2}},
			},
		},
		"forwarded, as an answer": {
			[]chat.Message{
				{ID: "1", Media: []chat.Media{photo}, ReplyTo: quote, Forwarded: forward},
				{ID: "2", Media: []chat.Media{photo}, ReplyTo: &chat.Quote{ID: "2"}, Forwarded: forward},
			},
			chat.Message{ID: "1", Media: []chat.Media{photo, photo}, ReplyTo: quote, Forwarded: forward},
		},
		"more mentions than the host takes": {
			slices.Repeat([]chat.Message{{Mentions: make([]chat.Mention, 100)}}, 10),
			chat.Message{Mentions: make([]chat.Mention, wire.MaxMentions)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := make([]chat.Event, len(c.parts))
			for i, body := range c.parts {
				parts[i] = chat.Event{ID: chat.EventID(strconv.Itoa(i)), Body: body}
			}
			if diff := cmp.Diff(chat.Event{ID: "0", Body: c.want}, album.Join(parts)); diff != "" {
				t.Errorf("Join (-want +got):\n%s", diff)
			}
		})
	}
}
