package media_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What Claude is shown is told by the content, and bounded.
// Behaviour: file-inline.
func TestPicture(t *testing.T) {
	t.Parallel()
	files := media.NewFiles(media.FilesOptions{Dir: t.TempDir()})
	for name, test := range map[string]struct {
		shown chat.Media
		want  bool
	}{
		"a picture":    {chat.Media{Ref: "r", Kind: chat.Image, MIMEType: "image/png", Size: agent.MaxPicture}, true},
		"a sticker":    {chat.Media{Ref: "r", Kind: chat.Sticker, MIMEType: "image/webp", Size: 9}, true},
		"too large":    {chat.Media{Ref: "r", Kind: chat.Image, MIMEType: "image/png", Size: agent.MaxPicture + 1}, false},
		"a drawing":    {chat.Media{Ref: "r", Kind: chat.Image, MIMEType: "image/svg+xml", Size: 9}, false},
		"broken":       {chat.Media{Ref: "r", Kind: chat.File, MIMEType: "image/png", Size: 9}, false},
		"a bad name":   {chat.Media{Ref: "../r", Kind: chat.Image, MIMEType: "image/png", Size: 9}, false},
		"an animation": {chat.Media{Ref: "r", Kind: chat.Sticker, MIMEType: "application/x-gzip", Size: 9}, false},
	} {
		got, ok := files.Picture("telegram", test.shown)
		if ok != test.want || ok && (got.Type != test.shown.MIMEType || !strings.HasSuffix(got.Path, "/telegram/r")) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}
