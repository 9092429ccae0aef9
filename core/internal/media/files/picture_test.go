package files_test

import (
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What Claude is shown is determined by the content, and bounded.
// Behaviour: file-inline.
func TestPicture(t *testing.T) {
	t.Parallel()
	store := files.NewStore(files.Options{Dir: t.TempDir()})
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
		got, ok := store.Picture("telegram", test.shown)
		if ok != test.want || ok && (got.Type != test.shown.MIMEType || !strings.HasSuffix(got.Path, "/telegram/r")) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// pngOf is the beginning of a PNG image that says that it has this size.
func pngOf(width, height uint32) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	header = append(header, 8, 6, 0, 0, 0)
	image := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header...)
	return binary.BigEndian.AppendUint32(image, crc32.ChecksumIEEE(header))
}

// A file that is sent as a photo, and is not one or has an absurd size, is no picture for Claude, whatever its sender calls it. A
// picture with something behind it stays a picture.
// Behaviour: file-type, file-inline.
func TestHostilePictures(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html><script>alert(1)</script>"
	for name, test := range map[string]struct {
		content  []byte
		mimeType string
		ending   string
		shown    bool
	}{
		"of 65000 by 65000":            {pngOf(65000, 65000), "application/octet-stream", "", false},
		"of 4294967295 by 1":           {pngOf(1<<32-1, 1), "application/octet-stream", "", false},
		"of 0 by 0":                    {pngOf(0, 0), "application/octet-stream", "", false},
		"of 1 by 0":                    {pngOf(1, 0), "application/octet-stream", "", false},
		"an animation of 0 by 0":       {[]byte("GIF89a\x00\x00\x00\x00\x00\x00\x00;"), "application/octet-stream", "", false},
		"an animation that is a page":  {[]byte("GIF89a" + page), "application/octet-stream", "", false},
		"an animation before a page":   {slices.Concat(mediatest.Picture(t, "gif"), []byte(page)), "image/gif", ".gif", true},
		"a page before an animation":   {slices.Concat([]byte(page), mediatest.Picture(t, "gif")), "text/html", ".html", false},
		"a drawing":                    {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), "image/svg+xml", ".svg", false},
		"a drawing behind a comment":   {[]byte(`<!-- x --><svg onload="alert(1)"/>`), "image/svg+xml", ".svg", false},
		"a drawing behind white space": {[]byte("\n\t <svg onload='alert(1)'/>"), "image/svg+xml", ".svg", false},
		"a document":                   {pdf, "application/pdf", ".pdf", false},
		"an archive":                   {[]byte("PK\x03\x04"), "application/zip", ".zip", false},
	} {
		for _, claim := range []chat.Media{
			{Kind: chat.Image, MIMEType: "image/png", FileName: "photo.png"},
			{Kind: chat.Sticker, MIMEType: "image/webp", FileName: "photo.gif"},
		} {
			b := mediatest.Setup(t)
			m := b.Stored(t, claim, test.content)
			shown, path, err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Show(t.Context(), "telegram", m)
			if err != nil || m.MIMEType != test.mimeType || filepath.Ext(path) != test.ending || m.Kind == chat.Image && !test.shown {
				t.Errorf("%s: %v, %q at %s, %v", name, m.Kind, m.MIMEType, path, err)
			}
			if _, ok := b.Picture("telegram", shown); ok != test.shown {
				t.Errorf("%s, sent as %v: shown to Claude: %t", name, claim.Kind, ok)
			}
		}
	}
}
