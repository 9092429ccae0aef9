package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/voice"
)

// A voice message of Discord's is one file in a message that has neither text nor buttons, and cannot be edited. Its length
// and its waveform are the sender's to say. It need not be Ogg Opus, but only that is played everywhere, and only of that the
// plugin knows both.

// enclosure says more of a file than the file itself.
type enclosure struct {
	ID       string  `json:"id"` // the file's place in the form
	Seconds  float64 `json:"duration_secs"`
	Waveform []byte  `json:"waveform"` // as base64
}

// What a waveform has: a point for each tenth of a second, so many at most.
const (
	wavePoints = 256
	waveHeight = 255
	waveStep   = 100 * time.Millisecond
)

// alone tells whether a file goes with nothing else in its message.
func alone(m chat.Media) bool { return m.Kind == chat.Voice }

// plain tells whether nothing but files is in a message.
func (p post) plain() bool { return strings.TrimSpace(p.Content) == "" && len(p.Components) == 0 }

// spoken is p as a voice message.
func (p post) spoken(s voice.Sound) post {
	points := min(max(1, int((s.Length+waveStep-1)/waveStep)), wavePoints)
	p.Content, p.Components = "", nil
	p.Flags = p.Flags&int(discordgo.MessageFlagsSuppressNotifications) | int(discordgo.MessageFlagsIsVoiceMessage)
	p.Enclosures = []enclosure{{ID: "0", Seconds: s.Length.Seconds(), Waveform: s.Waveform(points, waveHeight)}}
	return p
}

// speak sends a voice message. What is none by its content, and what Discord does not take as one, goes as an ordinary file:
// under the same nonce, so that whatever of both arrives arrives once.
func (c *channel) speak(ctx context.Context, path string, p post, m chat.Media) (discordgo.Message, error) {
	sound, err := c.listen(ctx, m)
	if err != nil {
		return discordgo.Message{}, c.rest.unread(postMessage, err)
	}
	if sound.Length > 0 {
		sent, err := c.enclose(ctx, path, p.spoken(sound), []chat.Media{m})
		if e, ok := errors.AsType[*callError](err); !ok || !e.noVoice() {
			return sent, err
		}
		c.log.Debug("Discord takes no voice message; it is sent as a file", "error", err)
	}
	return c.enclose(ctx, path, p, []chat.Media{m})
}

// listen finds out what there is to say of a file as a voice message. One that is not even sound by its type is none to
// Discord either.
func (c *channel) listen(ctx context.Context, m chat.Media) (voice.Sound, error) {
	m, content, err := c.env.Media.Download(ctx, m.Ref)
	if err != nil || !strings.HasPrefix(m.MIMEType, "audio/") {
		if err == nil {
			err = content.Close()
		}
		return voice.Sound{}, err
	}
	defer content.Close()
	return voice.Read(io.LimitReader(content, maxUpload)), nil
}

// refusedVoices are Discord's codes for what is no voice message to it, the last for a channel in which the bot may send none.
var refusedVoices = []int{50159, 50160, 50161, 50173}

// noVoice tells whether a voice message was refused for being one.
func (e *callError) noVoice() bool {
	return slices.Contains(refusedVoices, e.code) || e.Status == http.StatusBadRequest && e.code == invalidForm
}
