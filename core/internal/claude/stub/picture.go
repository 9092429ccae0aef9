package stub

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/claude/stub/picture"
)

// maxSide is the length, in pixels, above which the CLI makes a picture smaller before it shows it.
const maxSide = 2000

// source is a picture of a message.
type source struct {
	Type string `json:"media_type"`
	Data []byte `json:"data"`
}

// parts returns the text of a message's content, of which the CLI reads only the last text block as its own, and its pictures.
func parts(content json.RawMessage) (string, []source, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil, nil
	}
	var blocks []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source source `json:"source"`
	}
	if err := json.Unmarshal(content, &blocks); err != nil {
		return "", nil, fmt.Errorf("bad content: %w", err)
	}
	var texts []string
	var pictures []source
	for _, b := range blocks {
		switch b.Type {
		case "text":
			texts = append(texts, b.Text)
		case "image":
			pictures = append(pictures, b.Source)
		}
	}
	return strings.Join(texts, "\n"), pictures, nil
}

// show returns what the model is shown of a message's pictures: their types, or notes in place of pictures that it cannot be
// shown. The CLI replaces pictures that it cannot read or make smaller. If the API rejects one of the others, the CLI repeats the
// request without any; lost reports that.
func show(pictures []source) (list []string, lost bool) {
	for _, p := range pictures {
		width, height, ok := picture.Size(p.Data)
		switch {
		case !ok:
			list = append(list,
				"[Image could not be processed: Unable to resize image — image processing is unavailable and dimensions could not be read from the "+
					"file header. Please convert the image to PNG, JPEG, GIF, or WebP.]")
		case max(width, height) > maxSide && !picture.Whole(p.Data):
			list = append(list,
				fmt.Sprintf("[Image could not be processed: Unable to resize image — its pixels could not be decoded (the file may be damaged, or use "+
					"an encoding Claude Code cannot read), and at %dx%dpx it is over the 2000x2000px limit, so it cannot be sent. Re-save it as a PNG or JPEG and try again.]", width, height))
		default:
			lost = lost || !picture.Whole(p.Data)
			list = append(list, p.Type)
		}
	}
	if lost {
		for i, text := range list {
			if !strings.HasPrefix(text, "[") {
				list[i] = "[Image removed: the API could not process this image (400 Could not process image). The file may be unsupported or corrupt; do not retry reading it.]"
			}
		}
	}
	return list, lost
}

// see shows the pictures of a message to the model.
func (s *session) see(m message) {
	list, lost := show(m.pictures)
	s.pictures = append(s.pictures, list...)
	if lost {
		s.synthetic("API Error: an image in the conversation could not be processed and was removed. Re-read the file with a different approach if you still need it.", "invalid_request")
		s.status("requesting")
	}
}
