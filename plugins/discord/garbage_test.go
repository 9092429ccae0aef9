package main

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// FuzzEvents: nothing that an event could say ends the plugin.
func FuzzEvents(f *testing.F) {
	for _, seed := range [][2]string{
		{"MESSAGE_CREATE", `{"id":"5","channel_id":"70","author":{"id":"7"},"content":"<@7><@&5><#5><a:b:5></c:5>","mentions":[null,{"id":"7","username":"a"}],"attachments":[null],"embeds":[null,{"fields":[null]}],"sticker_items":[null],"poll":{"answers":[{}]}}`},
		{"MESSAGE_CREATE", `{"id":"5","channel_id":"70","guild_id":"900","type":19,"author":{"id":"7"},"content":"x","message_reference":{"message_id":"4"},"referenced_message":{"attachments":[null]}}`},
		{"MESSAGE_CREATE", `{"id":"5","channel_id":"70","author":{"id":"7"},"message_reference":{"type":1},"message_snapshots":[{},{"message":{"attachments":[null,{"filename":"x"}]}}]}`},
		{"MESSAGE_UPDATE", `{"id":"5","channel_id":"70","author":{"id":"7"},"edited_timestamp":"2026-01-01T00:00:00Z","content":"x"}`},
		{"MESSAGE_DELETE_BULK", `{"ids":["5",""],"channel_id":"70"}`},
		{"MESSAGE_REACTION_ADD", `{"user_id":"7","channel_id":"70","message_id":"5","emoji":{"id":"5"},"member":{}}`},
		{"MESSAGE_REACTION_REMOVE", `{}`},
		{"GUILD_CREATE", `{"id":"900","channels":[null,{"id":"901","last_message_id":"x"}],"threads":[null]}`},
		{"GUILD_DELETE", `{"id":"900"}`},
		{"GUILD_ROLE_UPDATE", `[]`},
		{"CHANNEL_DELETE", `{}`},
		{"THREAD_CREATE", `null`},
		{"INTERACTION_CREATE", `{"id":"5","channel_id":"70","type":3,"message":{"id":"4"},"member":{"user":{"id":"7"}},"data":{"custom_id":"x","options":[{"value":5}]}}`},
		{"INTERACTION_CREATE", `null`},
	} {
		f.Add(seed[0], seed[1])
	}
	s := discordtest.New(f)
	s.Direct("7", "70")
	api, err := newREST(s.Token(), s.URL())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(api.close)
	f.Fuzz(func(t *testing.T, name, raw string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		in := &recorder{}
		r := newReceiver(api, sdk.Env{State: newLedger(), Media: shelf{}, Log: quiet()}, in, testPace())
		r.self = discordtest.BotID
		e := &discordgo.Event{Operation: opDispatch, Sequence: 1, Type: name, RawData: json.RawMessage(raw)}
		var acknowledging sync.WaitGroup
		answer := r.answer(e, 1)
		acknowledging.Go(func() { answer(t.Context()) })
		if err := r.handle(t.Context(), "session", e); err != nil && t.Context().Err() == nil {
			if _, ok := err.(*callError); !ok {
				t.Logf("%s %s: %v", name, raw, err)
			}
		}
		acknowledging.Wait()
		for _, text := range in.texts {
			if len(text) > len(raw)*8+1000 {
				t.Errorf("%d bytes became %d", len(raw), len(text))
			}
		}
	})
}

// TestUnreadableEvents are skipped: they would be no better the next time.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	for _, text := range []string{
		`{"op":0,"s":1000,"t":"MESSAGE_CREATE","d":{"id":5}}`,
		`{"op":0,"s":1001,"t":"MESSAGE_CREATE","d":{"id":"5"}}`,
		`{"op":0,"s":1002,"t":"NOBODY_KNOWS_IT","d":{}}`,
		`{"op":77}`,
	} {
		f.server.Garble(text)
	}
	f.server.Garble(`{"op":0,"s":1003,"t":"MESSAGE_CREATE","d":{"id":"1573745673424076801","channel_id":"70","author":{"id":"7","username":"anna"},"content":"still here"}}`)
	if e, _ := f.message(t, "still here"); e.Chat.Kind != chat.Direct {
		t.Errorf("it comes from %+v", e.Chat)
	}
}
