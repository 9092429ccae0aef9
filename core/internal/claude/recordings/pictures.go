package recordings

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"
)

// Picture is a picture of a message, and what the real CLI shows of it.
type Picture struct {
	Name  string
	Type  string
	Data  []byte
	Shown string // the type as which the model sees it, or how the text begins that it gets instead
	Asked int    // how often the model is asked, as the API refuses some
}

// The beginnings of the CLI's notes.
const (
	unread  = "[Image could not be processed: Unable to resize image — image processing is unavailable and dimensions could not be read"
	damaged = "[Image could not be processed: Unable to resize image — its pixels could not be decoded"
	removed = "[Image removed: the API could not process this image"
)

// Pictures are pictures that the API accepts, and files that only have the header of one.
func Pictures(tb testing.TB) []Picture {
	tb.Helper()
	return []Picture{
		{"a small PNG", "image/png", drawn(tb, 20, 20), "image/png", 1},
		{"a large PNG", "image/png", drawn(tb, 9000, 10), "image/png", 1},
		{"a damaged PNG of 9000 × 9000", "image/png", garbagePNG(9000, 9000), damaged, 1},
		{"a damaged PNG of 100000 × 1000", "image/png", garbagePNG(100000, 1000), damaged, 1},
		{"a damaged small PNG", "image/png", garbagePNG(20, 20), removed, 2},
		{"a WebP of 50 bytes", "image/webp", cutWebP(), removed, 2},
		{"the beginning of a JPEG", "image/jpeg", []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x11\x08\x00\x20\x00\x20\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01" + strings.Repeat("garbage", 10)), removed, 2},
		{"a damaged GIF", "image/gif", []byte("GIF89a\x0a\x00\x0a\x00\x80\x00\x00\x00\x00\x00\xff\xff\xffgarbage;"), removed, 2},
		{"no picture", "image/png", []byte(strings.Repeat("hello, this is no picture. ", 4)), unread, 1},
	}
}

// drawn is a PNG.
func drawn(tb testing.TB, width, height int) []byte {
	tb.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

// garbagePNG is a PNG whose header has dimensions, but whose pixel data is invalid.
func garbagePNG(width, height uint32) []byte {
	chunk := func(kind string, content []byte) []byte {
		data := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
		data = append(append(data, kind...), content...)
		return binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data[4:]))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	header = append(header, 8, 2, 0, 0, 0) // bits of each of three colours
	data := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", header)...)
	data = append(data, chunk("IDAT", []byte(strings.Repeat("garbage", 30)))...)
	return append(data, chunk("IEND", nil)...)
}

// cutWebP is the beginning of a WebP of 64 × 64 pixels, whose header claims a longer frame.
func cutWebP() []byte {
	data := append([]byte("RIFF\x2a\x00\x00\x00WEBPVP8 \x1e\x00\x00\x00"), 0x30, 0x7f, 0x00, 0x9d, 0x01, 0x2a, 64, 0, 64, 0)
	return append(data, bytes.Repeat([]byte{0x55}, 20)...)
}
