package files

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/sdk/chat"
)

// pictureTypes are the types that the API shows to the model.
var pictureTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// Picture returns the host's own file of a picture that Claude can be shown, by its description in [Inbound.Show]; false: it
// is not a picture, or too large.
func (f *Store) Picture(instance string, shown chat.Media) (agent.Picture, bool) {
	path, err := f.path(instance, shown.Ref)
	if err != nil || !slices.Contains(pictureTypes, shown.MIMEType) ||
		shown.Kind != chat.Image && shown.Kind != chat.Sticker || shown.Size > agent.MaxPicture {
		return agent.Picture{}, false
	}
	return agent.Picture{Path: path, Type: shown.MIMEType}, true
}
