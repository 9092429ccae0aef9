package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxShown is the maximum size of a file that WhatsApp shows by its type; larger ones are sent as documents.
const maxShown = 16 << 20 // bytes

// shape is the way in which a file is sent.
type shape struct {
	kind      chat.MediaKind // as which phones show it
	class     whatsmeow.MediaType
	captioned bool
}

// shapes are the types of files that phones show. All others are documents.
var shapes = []network.Shape[shape]{
	row(shape{chat.Image, whatsmeow.MediaImage, true}, "image/jpeg", "image/png"),
	row(shape{chat.Video, whatsmeow.MediaVideo, true}, "video/mp4", "video/3gpp"),
	row(shape{chat.Voice, whatsmeow.MediaAudio, false}, "audio/ogg"),
	// A voice message in another format is shown as audio.
	row(shape{chat.Audio, whatsmeow.MediaAudio, false}, "audio/mpeg", "audio/mp4", "audio/aac", "audio/amr", "audio/ogg", "audio/x-m4a"),
	row(shape{chat.Sticker, whatsmeow.MediaImage, false}, "image/webp"),
}

var document = shape{chat.File, whatsmeow.MediaDocument, true}

func row(as shape, types ...string) network.Shape[shape] {
	kinds := []chat.MediaKind{as.kind}
	if as.kind == chat.Audio {
		kinds = append(kinds, chat.Voice)
	}
	return network.Shape[shape]{Kinds: kinds, Types: types, Most: maxShown, As: as}
}

func shapeOf(m chat.Media) shape { return network.ShapeOf(shapes, m, document) }

// attach uploads a file and returns the message that shows it.
func (c *channel) attach(ctx context.Context, client *whatsmeow.Client, m chat.Media, caption string) (*waE2E.Message, error) {
	stored, content, err := c.media.Download(ctx, m.Ref)
	if errors.Is(err, sdk.ErrNotFound) {
		return nil, network.Refuse(chat.MediaRejected, "the host has no such file")
	} else if err != nil {
		return nil, &chat.Failure{Reason: chat.Temporary, Err: err}
	}
	defer content.Close()
	if err := network.CheckFile(stored, maxFile); err != nil {
		return nil, err
	}
	on, err := c.temporary()
	if err != nil {
		return nil, &chat.Failure{Reason: chat.Temporary, Err: err}
	}
	defer discard(on)
	as := shapeOf(stored)
	up, err := client.UploadReader(ctx, content, on, as.class)
	if err != nil {
		return nil, uploadFailure(err)
	}
	return shown(stored, as, up, caption, c.preview(ctx, m, as)), nil
}

func uploadFailure(err error) *chat.Failure {
	f := &chat.Failure{Reason: chat.Temporary, Err: fmt.Errorf("upload: %w", network.WithoutAddress(err))}
	switch {
	case errors.Is(err, whatsmeow.ErrNotConnected):
		f.Reason = chat.NotConnected
	case strings.Contains(err.Error(), "status code 413"), strings.Contains(err.Error(), "status code 415"):
		f.Reason = chat.MediaRejected
	}
	return f
}

// shown returns the message of an uploaded file.
func shown(m chat.Media, as shape, up whatsmeow.UploadResponse, caption string, p preview) *waE2E.Message {
	mimeType := m.MIMEType
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	var text *string
	if caption != "" {
		text = proto.String(caption)
	}
	switch as.kind {
	case chat.Image:
		m := &waE2E.ImageMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
			FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: &mimeType, Caption: text, JPEGThumbnail: p.thumbnail,
		}
		if p.width > 0 {
			m.Width, m.Height = &p.width, &p.height
		}
		return &waE2E.Message{ImageMessage: m}
	case chat.Video:
		return &waE2E.Message{VideoMessage: &waE2E.VideoMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
			FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: &mimeType, Caption: text,
		}}
	case chat.Voice, chat.Audio:
		voice := as.kind == chat.Voice
		if voice {
			mimeType = "audio/ogg; codecs=opus" // phones need the codec to play it
		}
		m := &waE2E.AudioMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
			FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: &mimeType, PTT: &voice, Waveform: p.waveform,
		}
		if p.seconds > 0 {
			m.Seconds = &p.seconds
		}
		return &waE2E.Message{AudioMessage: m}
	case chat.Sticker:
		return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
			FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: &mimeType,
		}}
	default:
		name := m.FileName
		if name == "" {
			name = "file"
		}
		return &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
			FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: &mimeType, Caption: text,
			FileName: &name, Title: &name,
		}}
	}
}
