// Package picture reads pictures as far as the stand-ins for the claude CLI and for Anthropic's API do: JPEG, PNG, GIF and WebP.
package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif" // formats that are decoded
	_ "image/jpeg"
	_ "image/png"
)

// maxPixels limits what is decoded. A larger picture counts as damaged.
const maxPixels = 100_000_000

// Size returns the dimensions that a picture's header claims, in pixels. It reports false if there is no such header.
func Size(data []byte) (width, height int, ok bool) {
	if f, isWebP := frameOf(data); isWebP {
		return f.width, f.height, f.width > 0
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	return config.Width, config.Height, err == nil
}

// Whole reports whether a picture can be decoded. Of a WebP only the structure is checked.
func Whole(data []byte) bool {
	if f, isWebP := frameOf(data); isWebP {
		return f.whole
	}
	width, height, ok := Size(data)
	if !ok || width <= 0 || height <= 0 || width > maxPixels/height {
		return false
	}
	_, _, err := image.Decode(bytes.NewReader(data))
	return err == nil
}

// frame is the first frame of a WebP.
type frame struct {
	width, height int
	whole         bool
}

// frameOf reads the beginning of a WebP, and reports whether it is one. Animated ones are not read.
func frameOf(data []byte) (f frame, isWebP bool) {
	const (
		chunk  = 20 // where the first chunk begins, behind its head
		header = 10 // of a key frame: its tag, the start code and the dimensions
	)
	if len(data) < chunk+header || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return frame{}, len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
	}
	size, body := int(binary.LittleEndian.Uint32(data[16:])), data[chunk:]
	switch string(data[12:16]) {
	case "VP8 ":
		tag := int(body[0]) | int(body[1])<<8 | int(body[2])<<16
		f.width, f.height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
		// the first partition is followed by another
		f.whole = size <= len(body) && string(body[3:6]) == "\x9d\x01\x2a" && header+tag>>5 < size
	case "VP8L":
		bits := binary.LittleEndian.Uint32(body[1:])
		f.width, f.height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
		f.whole = size <= len(body) && body[0] == 0x2f
	}
	return f, true
}
