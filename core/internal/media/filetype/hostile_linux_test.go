package filetype_test

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The host itself reads the beginnings of files, and names. No hostile one takes longer than a limited multiple of a harmless one of the
// same size.
// Behaviour: file-type.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	settle := func(content string) {
		_, _ = filetype.Settle(chat.Media{}, strings.NewReader(content), int64(len(content)))
	}
	mediatest.Hostile(t, "file", settle, mediatest.Filled("\x89PNG\r\n\x1a\n", chunk("teXt", strings.Repeat("x", 500)), size), map[string]string{
		"JPEG of small segments":          jpegOf(segment(0xfe, 0), size),
		"JPEG of filling":                 mediatest.Filled("\xff\xd8", "\xff", size),
		"PNG of empty chunks":             mediatest.Filled("\x89PNG\r\n\x1a\n", chunk("teXt", ""), size),
		"PNG of empty chunks, palette":    mediatest.Filled("\x89PNG\r\n\x1a\n"+chunk("IHDR", "\x00\x00\x10\x00\x00\x00\x10\x00\x08\x03\x00\x00\x00"), chunk("teXt", ""), size),
		"GIF of extensions":               mediatest.Filled("GIF89a\x10\x00\x10\x00\x00\x00\x00", "!\xfe\x00", size),
		"WebP":                            mediatest.Filled("RIFF\xff\xff\xff\x7fWEBPVP8X", "\x00", size),
		"Ogg pages":                       mediatest.Filled("", "OggS\x00", size),
		"boxes":                           mediatest.Filled("\x00\x00\x00\x18ftypM4A ", "\x00\x00\x00\x08free", size),
		"Matroska":                        mediatest.Filled("\x1a\x45\xdf\xa3", "A_webV_", size),
		"text":                            mediatest.Filled("", "<sv", size),
		"spaces":                          mediatest.Filled("", " ", size),
		"nothing":                         strings.Repeat("\x00", size),
		"a sound with an ID3 tag of text": mediatest.Filled("ID3\x03\x00\x00\x00\x00\x00\x00", "#EXTM3U\n", size),
	})
	mediatest.Hostile(t, "name", func(text string) { filetype.CleanName(text) }, mediatest.Filled("", "a photo of the sea ", size)+".jpg", map[string]string{
		"dots":           mediatest.Filled("", ".", size),
		"slashes":        mediatest.Filled("", "/", size),
		"spaces":         mediatest.Filled("", " ", size),
		"invisible":      mediatest.Filled("", "\u200b", size),
		"half letters":   mediatest.Filled("", "\xe2\x82", size),
		"endings":        mediatest.Filled("", ".jpg", size),
		"joined letters": mediatest.Filled("", "a\u200d", size),
	})
}

// chunk is a part of a PNG file.
func chunk(name, data string) string {
	text := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	text = append(append(text, name...), data...)
	return string(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text[4:])))
}

// segment is a part of a JPEG file.
func segment(marker byte, data int) string {
	return "\xff" + string([]byte{marker}) + string(binary.BigEndian.AppendUint16(nil, uint16(data+2))) + strings.Repeat("x", data)
}

// jpegOf is a JPEG file whose dimensions follow after many segments.
func jpegOf(segment string, size int) string {
	return "\xff\xd8" + strings.Repeat(segment, size/len(segment)) + "\xff\xc0\x00\x0b\x08\x10\x00\x10\x00\x01\x01\x11\x00"
}
