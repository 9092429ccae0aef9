package files_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Files of each sort.
var (
	pdf  = []byte(mediatest.PDF)
	opus = []byte(mediatest.Opus)
	mp3  = []byte(mediatest.MP3)
	mp4  = []byte(mediatest.MP4)
	webp = []byte(mediatest.WebP)
	text = []byte(mediatest.Text)
)

// bomb is a small image that says that it is a huge one.
var bomb = []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00")

// What a file is, its content says.
// Behaviour: file-type.
func TestAFileIsWhatItHolds(t *testing.T) {
	t.Parallel()
	image := chat.Media{Kind: chat.Image, MIMEType: "image/jpeg"}
	for name, tc := range map[string]struct {
		claim    chat.Media
		content  []byte
		kind     chat.MediaKind
		mimeType string
		ending   string
	}{
		"a jpeg":                     {image, mediatest.Picture(t, "jpeg"), chat.Image, "image/jpeg", ".jpg"},
		"a png called a jpeg":        {image, mediatest.Picture(t, "png"), chat.Image, "image/png", ".png"},
		"a gif":                      {image, mediatest.Picture(t, "gif"), chat.Image, "image/gif", ".gif"},
		"a webp":                     {image, webp, chat.Image, "image/webp", ".webp"},
		"a page called an image":     {image, []byte("<!DOCTYPE html><script>alert(1)</script>"), chat.File, "text/html", ".html"},
		"a drawing called an image":  {image, []byte("<?xml version=\"1.0\"?><svg onload='x'/>"), chat.File, "image/svg+xml", ".svg"},
		"a program called an image":  {image, []byte("\x7fELF\x02\x01\x01\x00"), chat.File, "application/octet-stream", ""},
		"half an image":              {image, mediatest.Picture(t, "png")[:20], chat.File, "application/octet-stream", ""},
		"a huge image":               {image, bomb, chat.File, "application/octet-stream", ""},
		"an image sent as a file":    {chat.Media{Kind: chat.File, MIMEType: "text/plain"}, mediatest.Picture(t, "png"), chat.File, "image/png", ".png"},
		"nothing":                    {chat.Media{Kind: chat.Image}, nil, chat.File, "text/plain", ".txt"},
		"a voice message":            {chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg"}, opus, chat.Voice, "audio/ogg; codecs=opus", ".ogg"},
		"a song":                     {chat.Media{Kind: chat.Audio, MIMEType: "audio/mpeg"}, mp3, chat.Audio, "audio/mpeg", ".mp3"},
		"a voice that is a song":     {chat.Media{Kind: chat.Voice}, mp3, chat.Voice, "audio/mpeg", ".mp3"},
		"a song that is a voice":     {chat.Media{Kind: chat.Audio}, opus, chat.Audio, "audio/ogg; codecs=opus", ".ogg"},
		"a voice in a video's box":   {chat.Media{Kind: chat.Voice, MIMEType: "audio/mp4"}, mp4, chat.Voice, "audio/mp4", ".m4a"},
		"a voice that is a text":     {chat.Media{Kind: chat.Voice}, text, chat.File, "text/plain", ".txt"},
		"a video":                    {chat.Media{Kind: chat.Video, MIMEType: "video/mp4"}, mp4, chat.Video, "video/mp4", ".mp4"},
		"a video that is an image":   {chat.Media{Kind: chat.Video}, mediatest.Picture(t, "gif"), chat.File, "image/gif", ".gif"},
		"a sticker":                  {chat.Media{Kind: chat.Sticker}, webp, chat.Sticker, "image/webp", ".webp"},
		"a drawn sticker":            {chat.Media{Kind: chat.Sticker}, []byte("\x1f\x8b\x08\x00"), chat.Sticker, "application/x-gzip", ".gz"},
		"a sticker that is a text":   {chat.Media{Kind: chat.Sticker}, text, chat.File, "text/plain", ".txt"},
		"a table":                    {chat.Media{Kind: chat.File, MIMEType: "text/csv"}, []byte("a,b\n1,2\n"), chat.File, "text/csv", ".csv"},
		"a table by its name":        {chat.Media{Kind: chat.File, FileName: "a.CSV"}, []byte("a,b\n1,2\n"), chat.File, "text/csv", ".csv"},
		"a text called a program":    {chat.Media{Kind: chat.File, MIMEType: "application/x-msdownload"}, text, chat.File, "text/plain", ".txt"},
		"a text of an unheard type":  {chat.Media{Kind: chat.File, MIMEType: "text/../../x"}, text, chat.File, "text/plain", ".txt"},
		"a document":                 {chat.Media{Kind: chat.File, FileName: "a.docx"}, []byte("PK\x03\x04"), chat.File, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"},
		"an archive called an image": {image, []byte("PK\x03\x04"), chat.File, "application/zip", ".zip"},
		"a pdf":                      {chat.Media{Kind: chat.File}, pdf, chat.File, "application/pdf", ".pdf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mediatest.Setup(t)
			m := b.Stored(t, tc.claim, tc.content)
			if m.Kind != tc.kind || m.MIMEType != tc.mimeType || m.Size != int64(len(tc.content)) {
				t.Errorf("it is %v, %q, %d bytes", m.Kind, m.MIMEType, m.Size)
			}
			// What the message says of it later makes no difference.
			shown, path, err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Show(t.Context(), "telegram", chat.Media{Ref: m.Ref, Kind: tc.claim.Kind, MIMEType: tc.claim.MIMEType, FileName: tc.claim.FileName})
			if err != nil || shown != m {
				t.Errorf("shown as %+v, %v, want %+v", shown, err, m)
			}
			if want := filepath.Join(b.Workspace, "inbound", string(m.Ref)+tc.ending); path != want {
				t.Errorf("shown at %s, want %s", path, want)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, tc.content) {
				t.Errorf("the agent reads %q, %v", got, err)
			}
		})
	}
}

// Behaviour: file-accept.
func TestTypesThatAreAccepted(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	for name, tc := range map[string]struct {
		accept  []string
		content []byte
		want    bool
	}{
		"all":              {nil, text, true},
		"a type":           {[]string{"image/gif", "text/plain"}, text, true},
		"all of a sort":    {[]string{"audio/*"}, opus, true},
		"its parameters":   {[]string{"audio/ogg"}, opus, true},
		"another":          {[]string{"image/*"}, text, false},
		"a longer name":    {[]string{"text/pla"}, text, false},
		"not by its claim": {[]string{"image/*"}, mp3, false},
	} {
		store := files.NewStore(files.Options{Dir: b.Dir, Rows: b.Rows, MaxBytes: mediatest.MaxBytes, Accept: tc.accept})
		before := len(b.Kept(t))
		_, err := store.Put(t.Context(), "telegram", chat.Media{Kind: chat.Image, MIMEType: "image/png"}, bytes.NewReader(tc.content))
		if tc.want != (err == nil) || !tc.want && !errors.Is(err, files.ErrNotAccepted) {
			t.Errorf("%s: %v", name, err)
		}
		if kept := len(b.Kept(t)) - before; kept > 0 != tc.want {
			t.Errorf("%s: %d more files are kept", name, kept)
		}
	}
}

// Behaviour: file-inbound.
func TestPut(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	content := bytes.Repeat([]byte{'x'}, mediatest.MaxBytes)
	m := b.Stored(t, chat.Media{Ref: "../mine", FileName: "../../etc/\u202epasswd\n", Size: 7}, content)
	if m.Ref == "../mine" || m.FileName != "passwd" || m.Size != mediatest.MaxBytes {
		t.Errorf("kept as %+v", m)
	}
	known, file, err := b.Open(t.Context(), "telegram", m.Ref)
	if err != nil || known != m {
		t.Fatalf("opened %+v, %v", known, err)
	}
	defer file.Close()
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, ref := range []chat.MediaRef{"", ".", "..", "/etc/passwd", "../telegram/" + m.Ref, m.Ref + "\x00", "gone"} {
		b.Rows.Known["discord/"+string(ref)] = m // even if the store knew it
		if _, _, err := b.Open(t.Context(), "discord", ref); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%q: %v", ref, err)
		}
		if _, path, err := files.NewInbound(b.Store, b.Workspace, files.SpaceOptions{}).Show(t.Context(), "discord", chat.Media{Ref: ref}); err == nil || path != "" {
			t.Errorf("%q is shown at %q, %v", ref, path, err)
		}
	}
	if _, err := b.Put(t.Context(), "../x", chat.Media{}, bytes.NewReader(text)); err == nil {
		t.Error("an instance beside the folder")
	}

	if _, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(append(content, 'x'))); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("a byte too many: %v", err)
	}
	broken := errors.New("the line is broken")
	if _, err := b.Put(t.Context(), "telegram", chat.Media{}, io.MultiReader(bytes.NewReader(text), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken line: %v", err)
	}
	b.Rows.Fail = errors.New("the disk is full")
	if _, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(text)); !errors.Is(err, b.Rows.Fail) {
		t.Errorf("a full disk: %v", err)
	}
	if kept := b.Kept(t); len(kept) != 1 {
		t.Errorf("kept are %q", kept)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Behaviour: file-inbound.
func TestForget(t *testing.T) {
	t.Parallel()
	b := mediatest.Setup(t)
	if err := b.Discard(t.Context()); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	now := time.Now()
	path := func(m chat.Media, instance string) string { return filepath.Join(b.Dir, instance, string(m.Ref)) }
	file := func(instance string, age time.Duration) string {
		t.Helper()
		m, err := b.Put(t.Context(), instance, chat.Media{}, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		p := path(m, instance)
		if err := os.Chtimes(p, time.Time{}, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	keep := func(paths ...string) {
		t.Helper()
		if err := b.Discard(t.Context()); err != nil {
			t.Error(err)
		}
		if kept := b.Kept(t); len(kept) != len(paths) {
			t.Errorf("left are %q, want %d", kept, len(paths))
		}
		for _, p := range paths {
			if _, err := os.Stat(p); err != nil {
				t.Error(err)
			}
		}
	}
	fresh := file("telegram", 0)
	file("telegram", files.KeptFor+time.Hour)
	large, before := file("discord", 2*time.Hour), file("discord", 3*time.Hour)
	keep(fresh, large, before)
	resize := func(size int64) {
		t.Helper()
		if err := os.Truncate(large, size); err != nil { // a sparse file
			t.Fatal(err)
		}
		if err := os.Chtimes(large, time.Time{}, now.Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	const full = mediatest.AllBytes - mediatest.AllBytes/8 // files beyond this are removed to free space
	resize(full - 100)
	keep(fresh, large, before)
	resize(full - 40)
	keep(fresh, large)
}
