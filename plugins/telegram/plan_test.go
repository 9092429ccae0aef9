package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// TestPlan makes plans of any messages: each file goes once and in order, no request is beyond Telegram's limits, and what
// is answered and the buttons are named once.
func TestPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		out := chat.Outgoing{
			Text:    strings.Repeat(rapid.SampledFrom([]string{"word ", "🦀", "**b** "}).Draw(rt, "word"), rapid.IntRange(0, 1200).Draw(rt, "words")),
			ReplyTo: rapid.SampledFrom([]chat.MessageID{"", "5"}).Draw(rt, "reply"),
			Silent:  rapid.Bool().Draw(rt, "silent"),
		}
		for range rapid.IntRange(0, 25).Draw(rt, "files") {
			kind := chat.MediaKind(rapid.IntRange(int(chat.File), int(chat.Sticker)).Draw(rt, "kind"))
			mimeType := rapid.SampledFrom([]string{"", "image/png", "video/mp4", "audio/mpeg", "audio/ogg", "no type"}).Draw(rt, "type")
			out.Media = append(out.Media, chat.Media{Ref: chat.MediaRef(messageID(len(out.Media))), Kind: kind, MIMEType: mimeType, Size: 1})
		}
		if rapid.Bool().Draw(rt, "buttons") {
			out.Buttons = [][]chat.Button{{{Label: "l", Data: "d"}}}
		}
		steps, err := plan(out)
		if err != nil {
			if nothing := strings.TrimSpace(out.Text) == ""; !nothing {
				rt.Fatalf("refused: %v", err)
			}
			return
		}
		var files []chat.Media
		replies, keyboards, texts := 0, 0, ""
		for i, s := range steps {
			method, params, fields := s.request()
			limit := captionLimit.Max
			if method == "sendMessage" {
				limit = textLimit.Max
			}
			if n := len(utf16.Encode([]rune(s.text.Text))); n > limit || n == 0 && len(s.files) == 0 {
				rt.Errorf("step %d: %s with %d units", i, method, n)
			}
			if len(s.files) > maxAlbum || len(fields) != len(s.files) || method == "sendMediaGroup" && (len(s.files) < 2 || !json.Valid([]byte(params["media"]))) {
				rt.Errorf("step %d: %s with %d files", i, method, len(s.files))
			}
			for _, f := range s.files {
				files = append(files, f.Media)
				if len(s.files) > 1 && f.as.album() != s.files[0].as.album() {
					rt.Errorf("step %d: %s and %s in an album", i, f.as, s.files[0].as)
				}
			}
			if params["reply_parameters"] != "" {
				replies++
				if i > 0 {
					rt.Errorf("step %d answers", i)
				}
			}
			if params["reply_markup"] != "" {
				keyboards++
				if method == "sendMediaGroup" {
					rt.Errorf("step %d: buttons under an album", i)
				}
			}
			if silent := params["disable_notification"] == "true"; silent != out.Silent {
				rt.Errorf("step %d: silent %t", i, silent)
			}
			texts += s.text.Text
		}
		for i, m := range out.Media {
			if len(files) != len(out.Media) || files[i].Ref != m.Ref {
				rt.Fatalf("the files %v are sent as %v", out.Media, files)
			}
		}
		if replies != len(out.ReplyTo) || keyboards != len(out.Buttons) {
			rt.Errorf("%d requests answer, %d have buttons", replies, keyboards)
		}
		bare := func(s string) string { return strings.NewReplacer(" ", "", "*", "").Replace(s) }
		if bare(texts) != bare(out.Text) {
			rt.Errorf("of %d bytes of text %d are sent", len(bare(out.Text)), len(bare(texts)))
		}
	})
}
