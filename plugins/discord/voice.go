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

// A voice message on Discord is one file in a message without text or buttons, and cannot be edited. The sender provides
// its length and waveform. Discord does not require Ogg Opus, but only that plays everywhere, and only for that the plugin
// knows both.

// enclosure has properties of a file.
type enclosure struct {
	ID       string  `json:"id"` // the file's index in the form
	Seconds  float64 `json:"duration_secs"`
	Waveform []byte  `json:"waveform"` // as base64
}

// A waveform has a point for each tenth of a second, up to a maximum.
const (
	wavePoints = 256
	waveHeight = 255
	waveStep   = 100 * time.Millisecond
)

// alone reports whether a file must be sent in a message of its own.
func alone(m chat.Media) bool { return m.Kind == chat.Voice }

// plain reports whether a message has nothing but files.
func (p post) plain() bool { return strings.TrimSpace(p.Content) == "" && len(p.Components) == 0 }

// spoken returns p as a voice message.
func (p post) spoken(s voice.Sound) post {
	points := min(max(1, int((s.Length+waveStep-1)/waveStep)), wavePoints)
	p.Content, p.Components = "", nil
	p.Flags = p.Flags&int(discordgo.MessageFlagsSuppressNotifications) | int(discordgo.MessageFlagsIsVoiceMessage)
	p.Enclosures = []enclosure{{ID: "0", Seconds: s.Length.Seconds(), Waveform: s.Waveform(points, waveHeight)}}
	return p
}

// speak sends a voice message. A file whose content is not one, or that Discord refuses as one, is sent as an ordinary
// file: with the same nonce, so that only one of both can arrive.
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
		c.log.Debug("Discord refused a voice message; sending it as a file", "error", err)
	}
	return c.enclose(ctx, path, p, []chat.Media{m})
}

// listen returns the properties of a voice message. A file that is not audio by its type is not accepted by Discord as one.
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

// refusedVoices are Discord's codes for a refused voice message; the last is for a channel in which the bot may not send
// any.
var refusedVoices = []int{50159, 50160, 50161, 50173}

// noVoice reports whether a message was refused because it is a voice message.
func (e *callError) noVoice() bool {
	return slices.Contains(refusedVoices, e.code) || e.Status == http.StatusBadRequest && e.code == invalidForm
}
