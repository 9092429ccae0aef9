package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
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

// page is one of an Ogg file.
func page(samples uint64, body []byte) []byte {
	header := make([]byte, 27)
	copy(header, "OggS")
	binary.LittleEndian.PutUint64(header[6:], samples)
	var lengths []byte
	for left := len(body); left >= 0; left -= 255 {
		lengths = append(lengths, byte(min(left, 255)))
	}
	header[26] = byte(len(lengths))
	return bytes.Join([][]byte{header, lengths, body}, nil)
}

// opus is a sound of so many samples.
func opus(samples uint64) []byte {
	head := append([]byte("OpusHead\x01\x01"), 0x38, 0x01, 0, 0, 0, 0, 0, 0, 0) // 312 samples are skipped
	return bytes.Join([][]byte{page(0, head), page(0, []byte("OpusTags")), page(^uint64(0), make([]byte, 700)), page(samples+312, make([]byte, 300))}, nil)
}

func TestLengthOfVoices(t *testing.T) {
	t.Parallel()
	whole := opus(7 * opusRate)
	for name, test := range map[string]struct {
		content []byte
		want    time.Duration
	}{
		"whole":         {whole, 7 * time.Second},
		"cut":           {whole[:len(whole)-1], 0},
		"no voice":      {[]byte("a voice"), 0},
		"nothing":       {nil, 0},
		"another codec": {page(1<<20, []byte("\x01vorbis.............")), 0},
		"absurd":        {opus(1 << 62), 0},
	} {
		if got := opusLength(bytes.NewReader(test.content)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestPreviewsGoOut with the files.
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
	}{{chat.Image, "image/png", picture(t, 200, 100, png.Encode)}, {chat.Voice, "audio/ogg", opus(3 * opusRate)}} {
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
	if m := heard[1].Message.GetAudioMessage(); m.GetSeconds() != 3 || !m.GetPTT() {
		t.Errorf("the voice lasts %d s", m.GetSeconds())
	}
}
