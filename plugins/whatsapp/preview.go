package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png" // a format that phones show as images
	"io"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/voice"
)

const (
	// maxPixels is the maximum size of an image for a thumbnail, because it is decoded as a whole.
	maxPixels = 4 << 20
	// thumbnailTime limits the decoding of an image for its preview. A small JPEG can have so many layers that it takes hours.
	thumbnailTime = 2 * time.Second
	// thumbnailSide is the length of a thumbnail's longer side, in pixels.
	thumbnailSide = 96
)

// preview is what phones show of a file before they download it.
type preview struct {
	thumbnail     []byte // JPEG; nil: none
	width, height uint32 // of an image; zero: not known
	seconds       uint32 // of a voice message; zero: not known
	waveform      []byte // of a voice message; nil: not known
}

// preview returns a file's preview. A file without one is sent all the same.
func (c *channel) preview(ctx context.Context, m chat.Media, as shape) preview {
	if as.kind != chat.Image && as.kind != chat.Voice {
		return preview{}
	}
	_, content, err := c.media.Download(ctx, m.Ref)
	if err != nil {
		return preview{}
	}
	defer content.Close()
	if as.kind == chat.Voice {
		return voicePreview(content)
	}
	ctx, cancel := context.WithTimeout(ctx, thumbnailTime)
	defer cancel()
	return imagePreview(until{ctx, content})
}

// until is a reader that fails when its context ends, which also ends the decoder that reads from it.
type until struct {
	ctx  context.Context
	from io.Reader
}

// Read implements [io.Reader].
func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}

// Parameters of a voice message's waveform.
const (
	wavePoints = 64
	waveHeight = 100
)

// voicePreview returns a sound's length and waveform.
func voicePreview(content io.Reader) preview {
	sound := voice.Read(content)
	if sound.Length == 0 {
		return preview{}
	}
	return preview{seconds: uint32(sound.Length.Round(time.Second).Seconds()), waveform: sound.Waveform(wavePoints, waveHeight)}
}

// imagePreview returns a thumbnail.
func imagePreview(content io.Reader) preview {
	var head bytes.Buffer
	size, _, err := image.DecodeConfig(io.TeeReader(content, &head))
	if err != nil || size.Width < 1 || size.Height < 1 || size.Width > maxPixels || size.Height > maxPixels {
		return preview{}
	}
	p := preview{width: uint32(size.Width), height: uint32(size.Height)}
	if size.Width*size.Height > maxPixels {
		return p
	}
	whole, _, err := image.Decode(io.MultiReader(&head, content))
	if err != nil {
		return p
	}
	var small bytes.Buffer
	if jpeg.Encode(&small, shrink(whole), &jpeg.Options{Quality: 60}) == nil {
		p.thumbnail = small.Bytes()
	}
	return p
}

// shrink scales an image to the size of a thumbnail.
func shrink(whole image.Image) image.Image {
	from := whole.Bounds()
	scale := max(from.Dx(), from.Dy(), thumbnailSide)
	small := image.NewRGBA(image.Rect(0, 0, max(1, from.Dx()*thumbnailSide/scale), max(1, from.Dy()*thumbnailSide/scale)))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			at := whole.At(from.Min.X+x*from.Dx()/small.Rect.Dx(), from.Min.Y+y*from.Dy()/small.Rect.Dy())
			small.Set(x, y, color.RGBAModel.Convert(at))
		}
	}
	return small
}
