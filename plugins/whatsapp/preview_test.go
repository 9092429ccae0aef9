package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// picture is an image whose left half is red and whose right half is blue.
func picture(t *testing.T, width, height int, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	whole := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(whole, whole.Rect, image.NewUniform(color.RGBA{B: 255, A: 255}), image.Point{}, draw.Src)
	draw.Draw(whole, image.Rect(0, 0, width/2, height), image.NewUniform(color.RGBA{R: 255, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := encode(&b, whole); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }

// asPlain writes an image of the same size in one colour, which takes less time.
func asPlain(w io.Writer, m image.Image) error {
	return png.Encode(w, image.NewPaletted(m.Bounds(), color.Palette{color.Black, color.White}))
}

// Behaviour: whatsapp-preview.
func TestThumbnails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content       []byte
		width, height uint32
		small         image.Point // zero: no thumbnail
	}{
		"wide":      {picture(t, 960, 480, asJPEG), 960, 480, image.Pt(96, 48)},
		"high":      {picture(t, 100, 1000, png.Encode), 100, 1000, image.Pt(9, 96)},
		"tiny":      {picture(t, 3, 2, png.Encode), 3, 2, image.Pt(3, 2)},
		"a line":    {picture(t, 4000, 1, png.Encode), 4000, 1, image.Pt(96, 1)},
		"too large": {picture(t, 2100, 2100, asPlain), 2100, 2100, image.Point{}},
		"cut":       {picture(t, 960, 480, png.Encode)[:200], 960, 480, image.Point{}},
		"no image":  {[]byte("a picture"), 0, 0, image.Point{}},
	} {
		p := imagePreview(bytes.NewReader(test.content))
		if p.width != test.width || p.height != test.height || (p.thumbnail != nil) != (test.small != image.Point{}) {
			t.Errorf("%s: %d × %d, a thumbnail of %d bytes", name, p.width, p.height, len(p.thumbnail))
		}
		if p.thumbnail == nil {
			continue
		}
		small, err := jpeg.Decode(bytes.NewReader(p.thumbnail))
		if err != nil || small.Bounds().Size() != test.small || len(p.thumbnail) > 8<<10 {
			t.Errorf("%s: the thumbnail has %d bytes, %v", name, len(p.thumbnail), err)
			continue
		}
		if red, _, blue, _ := small.At(0, 0).RGBA(); red < blue {
			t.Errorf("%s: the thumbnail shows something else", name)
		}
	}
}

// TestPreviewsGoOut with the files.
// Behaviour: whatsapp-preview.
func TestPreviewsGoOut(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.anna.Say("hello")
	l.next()
	var media []chat.Media
	for _, m := range []struct {
		kind     chat.MediaKind
		mimeType string
		content  []byte
	}{{chat.Image, "image/png", picture(t, 200, 100, png.Encode)}, {chat.Voice, "audio/ogg", sdktest.Opus(slices.Repeat([]int{30, 60}, 75)...)}} {
		stored, err := l.env.Media.Upload(t.Context(), chat.Media{Kind: m.kind, MIMEType: m.mimeType}, bytes.NewReader(m.content))
		if err != nil {
			t.Fatal(err)
		}
		media = append(media, stored)
	}
	l.send(chat.Outgoing{Key: "k", To: l.direct, Media: media})
	heard := l.heard(2)
	if m := heard[0].Message.GetImageMessage(); len(m.GetJPEGThumbnail()) == 0 || m.GetWidth() != 200 || m.GetHeight() != 100 {
		t.Errorf("the image has a thumbnail of %d bytes and is %d × %d", len(m.GetJPEGThumbnail()), m.GetWidth(), m.GetHeight())
	}
	m := heard[1].Message.GetAudioMessage()
	if m.GetSeconds() != 3 || !m.GetPTT() || len(m.GetWaveform()) != wavePoints || slices.Max(m.GetWaveform()) != waveHeight {
		t.Errorf("the voice lasts %d s, its waveform is %d", m.GetSeconds(), m.GetWaveform())
	}
}

// layered is a progressive JPEG of 2048 × 2048 pixels with a number of layers, each of 18 bytes.
func layered(layers int) []byte {
	var b bytes.Buffer
	b.WriteString("\xff\xd8")                                             // start
	b.WriteString("\xff\xc2\x00\x0b\x08\x08\x00\x08\x00\x01\x01\x11\x00") // progressive, one component
	b.WriteString("\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64))    // quantisation
	// Of two codes of one bit, 0 stands for a run of 16,384 empty blocks or more, whose length has 14 further bits.
	b.WriteString("\xff\xc4\x00\x15\x10\x02" + strings.Repeat("\x00", 15) + "\xe0\x00")
	for range layers {
		b.WriteString("\xff\xda\x00\x08\x01\x01\x00\x01\x01\x00" + strings.Repeat("\x00", 8))
	}
	b.WriteString("\xff\xd9")
	return b.Bytes()
}

// tripwire is a reader that calls a function once a number of bytes were read.
type tripwire struct {
	from *bytes.Reader
	at   int64
	call func()
}

func (c *tripwire) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if read := c.from.Size() - int64(c.from.Len()); read >= c.at {
		c.call()
	}
	return n, err
}

// An image that takes too long is sent without a thumbnail: its decoder ends with the context.
// Behaviour: whatsapp-preview.
func TestADecoderEndsWithItsContext(t *testing.T) {
	t.Parallel()
	if whole := imagePreview(bytes.NewReader(layered(3))); whole.thumbnail == nil {
		t.Fatal("a few layers have no thumbnail")
	}
	ctx, cancel := context.WithCancel(t.Context())
	source := &tripwire{from: bytes.NewReader(layered(50_000)), at: 8 << 10, call: cancel}
	p := imagePreview(until{ctx, source})
	if read := source.from.Size() - int64(source.from.Len()); read > 16<<10 || p.thumbnail != nil || p.width != 2048 {
		t.Errorf("%d bytes were read, the width is %d, and the thumbnail has %d bytes", read, p.width, len(p.thumbnail))
	}
}
