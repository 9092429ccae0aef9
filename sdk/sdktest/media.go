package sdktest

import (
	"github.com/clawhost/clawhost/sdk/chat"
)

// pixel is a PNG of one pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

// sample is a small file of a kind. All are told apart by their content.
func sample(kind chat.MediaKind) (chat.Media, []byte) {
	m := chat.Media{Kind: kind, FileName: "sample-" + kind.String()}
	content := []byte("a sample of the kind " + kind.String())
	switch kind {
	case chat.Image:
		m.MIMEType, content = "image/png", []byte(pixel)
	case chat.Audio:
		m.MIMEType = "audio/mpeg"
	case chat.Voice:
		m.MIMEType = "audio/ogg"
	case chat.Video:
		m.MIMEType = "video/mp4"
	case chat.Sticker:
		m.MIMEType = "image/webp"
	default:
		m.MIMEType = "application/octet-stream"
	}
	return m, content
}
