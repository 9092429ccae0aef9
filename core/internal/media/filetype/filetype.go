// Package filetype determines what a file is: its type by its content, not by its name or by what a sender, a plugin or the agent
// claims; its kind; the names under which it is shown and stored; and as which kind a chat accepts it.
package filetype

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // formats whose dimensions are read
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// headBytes is how much of a file is read to determine its type.
	headBytes = 4 << 10
	// maxPixels limits the size of an image. A small file may need gigabytes to be displayed.
	maxPixels = 100_000_000
	// maxMetadata limits how much of an image is read to determine its dimensions, in bytes: in some formats any number of
	// other things may stand before them.
	maxMetadata = 4 << 20

	unknownType = "application/octet-stream"
	opusType    = "audio/ogg; codecs=opus"
)

// Settle returns a file's description according to its content: kind, type and size. Claims are used as far as the content
// does not contradict them; a file that is not of the claimed kind is a [chat.File].
func Settle(claim chat.Media, content io.ReaderAt, size int64) (chat.Media, error) {
	found, err := contentType(content, size)
	if err != nil {
		return chat.Media{}, err
	}
	claim.Size = size
	claim.FileName = CleanName(claim.FileName)
	claim.MIMEType = narrowed(found, claim)
	claim.Kind = settledKind(claim)
	return claim, nil
}

// settledKind returns the kind of a file whose type is known.
func settledKind(m chat.Media) chat.MediaKind {
	kind := KindOf(m.MIMEType)
	switch {
	case m.Kind == 0, m.Kind == kind:
		return kind
	case m.Kind == chat.Voice && kind == chat.Audio, m.Kind == chat.Audio && kind == chat.Voice:
		return m.Kind
	// The last of these types is an animated drawing.
	case m.Kind == chat.Sticker && (kind == chat.Image || kind == chat.Video || m.MIMEType == "application/x-gzip"):
		return chat.Sticker
	default:
		return chat.File
	}
}

// KindOf returns the kind as which networks show a type. An image is one that networks and the agent can show.
func KindOf(mimeType string) chat.MediaKind {
	switch base := Base(mimeType); {
	case base == "image/jpeg", base == "image/png", base == "image/gif", base == "image/webp":
		return chat.Image
	case mimeType == opusType:
		return chat.Voice
	case strings.HasPrefix(base, "audio/"):
		return chat.Audio
	case strings.HasPrefix(base, "video/"):
		return chat.Video
	default:
		return chat.File
	}
}

// narrower lists, for generic types, the prefixes of more specific types that may be claimed.
var narrower = map[string][]string{
	"text/plain": {
		"text/", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/sql", "application/x-sh",
	},
	"text/xml": {"application/xml", "application/rss+xml", "application/atom+xml"},
	"application/zip": {
		"application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.", "application/epub+zip",
		"application/vnd.android.package-archive", "application/java-archive",
	},
	"application/x-ole-storage": {"application/msword", "application/vnd.ms-"},
	"video/mp4":                 {"audio/mp4", "audio/x-m4a"},
	"video/webm":                {"audio/webm"},
}

// soundOnly are video containers that may contain only audio.
var soundOnly = map[string]string{"video/mp4": "audio/mp4", "video/webm": "audio/webm"}

// claimForm matches registered types, with a limited length.
var claimForm = lazyregexp.New(`^[a-z]+/[a-z0-9][a-z0-9.+-]{0,80}$`)

// narrowed returns the detected type, or the claimed one if it is more specific.
func narrowed(found string, claim chat.Media) string {
	claimed := Base(claim.MIMEType)
	if claimed == "" {
		claimed = typeByEnding(claim.FileName)
	}
	for _, beginning := range narrower[found] {
		if strings.HasPrefix(claimed, beginning) && claimForm().MatchString(claimed) {
			return claimed
		}
	}
	if sound, ok := soundOnly[found]; ok && (claim.Kind == chat.Voice || claim.Kind == chat.Audio) {
		return sound
	}
	return found
}

// Base returns a type without its parameters, in lower case.
func Base(mimeType string) string {
	base, _, _ := strings.Cut(mimeType, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// contentType detects the type of a file. An invalid image has an unknown type.
func contentType(content io.ReaderAt, size int64) (string, error) {
	head := make([]byte, min(size, headBytes))
	n, err := content.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	found := sniff(head)
	switch found {
	case "image/jpeg", "image/png", "image/gif":
		config, _, err := image.DecodeConfig(io.NewSectionReader(content, 0, min(size, maxMetadata)))
		if err != nil || !plausible(config.Width, config.Height) {
			return unknownType, nil
		}
	case "image/webp":
		if !plausible(webpSize(head)) {
			return unknownType, nil
		}
	}
	return found, nil
}

func plausible(width, height int) bool {
	return width > 0 && height > 0 && width <= maxPixels/height
}

// webpSize reads an image's dimensions from the first chunk after the header.
func webpSize(head []byte) (width, height int) {
	if len(head) < 30 {
		return 0, 0
	}
	switch string(head[12:16]) {
	case "VP8 ": // a frame tag of three bytes and a start code of three
		return int(binary.LittleEndian.Uint16(head[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(head[28:]) & 0x3fff)
	case "VP8L": // a signature of one byte, then 14 bits each
		bits := binary.LittleEndian.Uint32(head[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X": // flags of four bytes, then 24 bits each
		return 1 + int(uint32(head[24])|uint32(head[25])<<8|uint32(head[26])<<16),
			1 + int(uint32(head[27])|uint32(head[28])<<8|uint32(head[29])<<16)
	}
	return 0, 0
}

// signatures are file signatures that the standard library does not know, or knows less well.
var signatures = []struct{ begins, mimeType string }{
	{"\xff\xfb", "audio/mpeg"},
	{"\xff\xf3", "audio/mpeg"},
	{"\xff\xf2", "audio/mpeg"},
	{"\xff\xf1", "audio/aac"},
	{"\xff\xf9", "audio/aac"},
	{"fLaC", "audio/flac"},
	{"#!AMR", "audio/amr"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"},
	{"II*\x00", "image/tiff"},
	{"MM\x00*", "image/tiff"},
}

// sniff detects a type by a file's first bytes.
func sniff(head []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.begins)) {
			return s.mimeType
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("OggS")):
		return ogg(head)
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return isoMedia(string(head[8:12]))
	case bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")):
		return matroska(head)
	}
	found := Base(http.DetectContentType(head))
	switch {
	case found == "audio/wave":
		return "audio/wav"
	case (found == "text/plain" || found == "text/xml" || found == "text/html") &&
		bytes.Contains(head[:min(len(head), 1024)], []byte("<svg")):
		return "image/svg+xml"
	}
	return found
}

// ogg detects the type by the first packet, after a page header of 28 bytes.
func ogg(head []byte) string {
	packet := head[min(28, len(head)):]
	switch {
	case bytes.HasPrefix(packet, []byte("OpusHead")):
		return opusType
	case bytes.HasPrefix(packet, []byte("\x80theora")):
		return "video/ogg"
	case bytes.HasPrefix(packet, []byte("\x01vorbis")), bytes.HasPrefix(packet, []byte("Speex   ")),
		bytes.HasPrefix(packet, []byte("\x7fFLAC")):
		return "audio/ogg"
	default:
		return "application/ogg"
	}
}

// isoMedia detects the type by the brand.
func isoMedia(brand string) string {
	switch {
	case brand == "M4A ", brand == "M4B ":
		return "audio/mp4"
	case brand == "qt  ":
		return "video/quicktime"
	case strings.HasPrefix(brand, "3g"):
		return "video/3gpp"
	case strings.HasPrefix(brand, "avi"):
		return "image/avif"
	case strings.HasPrefix(brand, "hei"), strings.HasPrefix(brand, "hev"), brand == "mif1", brand == "msf1":
		return "image/heic"
	default:
		return "video/mp4"
	}
}

// matroska detects the type by the document type and the codecs, which are near the beginning.
func matroska(head []byte) string {
	switch {
	case !bytes.Contains(head, []byte("webm")):
		return "video/x-matroska"
	case bytes.Contains(head, []byte("A_")) && !bytes.Contains(head, []byte("V_")):
		return "audio/webm"
	default:
		return "video/webm"
	}
}
