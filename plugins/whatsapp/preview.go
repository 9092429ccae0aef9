package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png" // One of the formats that phones show as images.
	"io"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxPixels is the largest image that a thumbnail is made of: it is in memory as a whole then.
	maxPixels = 4 << 20
	// thumbnailSide is the longer side of a thumbnail, in pixels.
	thumbnailSide = 96
)

// preview is what phones show of a file before they have it.
type preview struct {
	thumbnail     []byte // JPEG; nil: none
	width, height uint32 // of an image; zero: not known
	seconds       uint32 // of a voice message; zero: not known
}

// preview looks into a file for what is shown of it. A file without a preview is sent all the same.
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
		return preview{seconds: uint32(opusLength(content).Round(time.Second).Seconds())}
	}
	return imagePreview(content)
}

// imagePreview makes a small image of a large one.
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

// shrink takes the pixels of an image that a thumbnail has room for.
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

// opusRate is how many samples a second Opus counts in, whatever it was recorded with.
const opusRate = 48_000

// opusLength is how long a sound in Ogg Opus is: the last page says how many samples there were until its end, and the first
// how many of them are not played. Zero: it is none.
func opusLength(ogg io.Reader) time.Duration {
	var samples, skipped uint64
	for first := true; ; first = false {
		var header [27]byte
		if _, err := io.ReadFull(ogg, header[:]); err != nil {
			if first || !errors.Is(err, io.EOF) || samples < skipped {
				return 0
			}
			break
		}
		lengths := make([]byte, header[26])
		if _, err := io.ReadFull(ogg, lengths); err != nil || string(header[:4]) != "OggS" {
			return 0
		}
		size := 0
		for _, length := range lengths {
			size += int(length)
		}
		body := make([]byte, size) // at most 255 * 255 bytes
		if _, err := io.ReadFull(ogg, body); err != nil {
			return 0
		}
		if first {
			if len(body) < 12 || string(body[:8]) != "OpusHead" {
				return 0
			}
			skipped = uint64(binary.LittleEndian.Uint16(body[10:]))
		}
		// A page on which nothing ends has -1.
		if at := binary.LittleEndian.Uint64(header[6:]); at < 1<<40 {
			samples = max(samples, at)
		}
	}
	return time.Duration(samples-skipped) * time.Second / opusRate
}
