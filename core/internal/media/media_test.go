package media_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxBytes is the largest file that comes in, in the tests.
const maxBytes = 200_000

// allBytes is what the host's own folder holds, in the tests.
const allBytes = 2 << 30

// rows are what is known of the files of one test.
type rows struct {
	mutex sync.Mutex
	known map[string]chat.Media
	fail  error
	room  *int // number of further files that fit; nil: any
	dealt []domain.OutgoingFile
}

func (r *rows) OutgoingFiles(_ context.Context, folder string) (files []domain.OutgoingFile, _ error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, f := range r.dealt {
		if folder == "" || f.Folder == folder {
			files = append(files, f)
		}
	}
	return files, r.fail
}

func (r *rows) DeleteOutgoing(_ context.Context, files ...domain.OutgoingFile) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.dealt = slices.DeleteFunc(r.dealt, func(f domain.OutgoingFile) bool {
		return slices.ContainsFunc(files, func(o domain.OutgoingFile) bool {
			return o.Folder == f.Folder && o.Name == f.Name && o.Version == f.Version
		})
	})
	return r.fail
}

func (r *rows) PutMedia(_ context.Context, instance string, m chat.Media, _ time.Time) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.fail != nil {
		return r.fail
	}
	if r.room != nil {
		if *r.room == 0 {
			return fmt.Errorf("note a file: %w", syscall.ENOSPC)
		}
		*r.room--
	}
	if r.known == nil {
		r.known = map[string]chat.Media{}
	}
	r.known[instance+"/"+string(m.Ref)] = m
	return nil
}

func (r *rows) Media(_ context.Context, instance string, ref chat.MediaRef) (chat.Media, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	m, ok := r.known[instance+"/"+string(ref)]
	if !ok {
		return chat.Media{}, domain.ErrNotFound
	}
	return m, nil
}

// bundle is a media store and a workspace of a test's own.
type bundle struct {
	*media.Files
	rows      *rows
	dir       string
	workspace string
}

func setup(t testing.TB) *bundle {
	t.Helper()
	b := &bundle{rows: &rows{}, dir: filepath.Join(t.TempDir(), "media"), workspace: t.TempDir()}
	b.Files = media.NewFiles(media.FilesOptions{Dir: b.dir, Rows: b.rows, MaxBytes: maxBytes, Space: media.SpaceOptions{Most: allBytes}})
	return b
}

// put keeps a file of telegram's.
func (b *bundle) put(t testing.TB, claim chat.Media, content []byte) chat.Media {
	t.Helper()
	m, err := b.Put(t.Context(), "telegram", claim, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// kept lists what is in the host's own folder, as instance/name.
func (b *bundle) kept(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(b.dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(path, b.dir+"/")
	}
	return paths
}

// write makes a file in the workspace.
func (b *bundle) write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(b.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Files of each sort.
var (
	pdf  = []byte("%PDF-1.7\n%âãÏÓ\n1 0 obj\n")
	opus = append([]byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13"), "OpusHead\x01\x01"...)
	mp3  = []byte("ID3\x04\x00\x00\x00\x00\x00\x00")
	mp4  = []byte("\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2mp41")
	webp = append([]byte("RIFF\x24\x00\x00\x00WEBPVP8L\x18\x00\x00\x00\x2f"), 0x3f, 0xc0, 0x0f, 0, 0, 0, 0, 0, 0, 0)
	text = []byte("Once upon a time,\nthere was a text.\n")
)

// picture is an image in a format.
func picture(t testing.TB, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	dots := image.NewGray(image.Rect(0, 0, 3, 2))
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, dots)
	case "jpeg":
		err = jpeg.Encode(&b, dots, nil)
	case "gif":
		err = gif.Encode(&b, dots, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

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
		"a jpeg":                     {image, picture(t, "jpeg"), chat.Image, "image/jpeg", ".jpg"},
		"a png called a jpeg":        {image, picture(t, "png"), chat.Image, "image/png", ".png"},
		"a gif":                      {image, picture(t, "gif"), chat.Image, "image/gif", ".gif"},
		"a webp":                     {image, webp, chat.Image, "image/webp", ".webp"},
		"a page called an image":     {image, []byte("<!DOCTYPE html><script>alert(1)</script>"), chat.File, "text/html", ".html"},
		"a drawing called an image":  {image, []byte("<?xml version=\"1.0\"?><svg onload='x'/>"), chat.File, "image/svg+xml", ".svg"},
		"a program called an image":  {image, []byte("\x7fELF\x02\x01\x01\x00"), chat.File, "application/octet-stream", ""},
		"half an image":              {image, picture(t, "png")[:20], chat.File, "application/octet-stream", ""},
		"a huge image":               {image, bomb, chat.File, "application/octet-stream", ""},
		"an image sent as a file":    {chat.Media{Kind: chat.File, MIMEType: "text/plain"}, picture(t, "png"), chat.File, "image/png", ".png"},
		"nothing":                    {chat.Media{Kind: chat.Image}, nil, chat.File, "text/plain", ".txt"},
		"a voice message":            {chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg"}, opus, chat.Voice, "audio/ogg; codecs=opus", ".ogg"},
		"a song":                     {chat.Media{Kind: chat.Audio, MIMEType: "audio/mpeg"}, mp3, chat.Audio, "audio/mpeg", ".mp3"},
		"a voice that is a song":     {chat.Media{Kind: chat.Voice}, mp3, chat.Voice, "audio/mpeg", ".mp3"},
		"a song that is a voice":     {chat.Media{Kind: chat.Audio}, opus, chat.Audio, "audio/ogg; codecs=opus", ".ogg"},
		"a voice in a video's box":   {chat.Media{Kind: chat.Voice, MIMEType: "audio/mp4"}, mp4, chat.Voice, "audio/mp4", ".m4a"},
		"a voice that is a text":     {chat.Media{Kind: chat.Voice}, text, chat.File, "text/plain", ".txt"},
		"a video":                    {chat.Media{Kind: chat.Video, MIMEType: "video/mp4"}, mp4, chat.Video, "video/mp4", ".mp4"},
		"a video that is an image":   {chat.Media{Kind: chat.Video}, picture(t, "gif"), chat.File, "image/gif", ".gif"},
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
			b := setup(t)
			m := b.put(t, tc.claim, tc.content)
			if m.Kind != tc.kind || m.MIMEType != tc.mimeType || m.Size != int64(len(tc.content)) {
				t.Errorf("it is %v, %q, %d bytes", m.Kind, m.MIMEType, m.Size)
			}
			// What the message says of it later makes no difference.
			shown, path, err := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{}).Show("telegram", chat.Media{Ref: m.Ref, Kind: tc.claim.Kind, MIMEType: tc.claim.MIMEType, FileName: tc.claim.FileName})
			if err != nil || shown != m {
				t.Errorf("shown as %+v, %v, want %+v", shown, err, m)
			}
			if want := filepath.Join(b.workspace, "inbound", string(m.Ref)+tc.ending); path != want {
				t.Errorf("shown at %s, want %s", path, want)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, tc.content) {
				t.Errorf("the agent reads %q, %v", got, err)
			}
		})
	}
}

// Behaviour: file-type.
func TestSniff(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"":                                        "text/plain",
		"OggS":                                    "application/ogg",
		string(opus[:28]) + "\x80theora":          "video/ogg",
		string(opus[:28]) + "\x01vorbis":          "audio/ogg",
		"\x00\x00\x00\x20ftypM4A \x00":            "audio/mp4",
		"\x00\x00\x00\x20ftypqt  \x00":            "video/quicktime",
		"\x00\x00\x00\x20ftyp3gp4\x00":            "video/3gpp",
		"\x00\x00\x00\x20ftypheic\x00":            "image/heic",
		"\x00\x00\x00\x20ftypavif\x00":            "image/avif",
		"\x1a\x45\xdf\xa3\x42\x82webmV_VP8A_OPUS": "video/webm",
		"\x1a\x45\xdf\xa3\x42\x82webmA_OPUS":      "audio/webm",
		"\x1a\x45\xdf\xa3\x42\x82matroska":        "video/x-matroska",
		"RIFF\x00\x00\x00\x00WAVEfmt ":            "audio/wav",
		"fLaC\x00":                                "audio/flac",
		"\xff\xfb\x90":                            "audio/mpeg",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":        "application/x-ole-storage",
	} {
		if got := media.Sniff([]byte(head)); got != want {
			t.Errorf("%q is %s, want %s", head, got, want)
		}
	}
}

// Behaviour: file-accept.
func TestTypesThatAreAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
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
		files := media.NewFiles(media.FilesOptions{Dir: b.dir, Rows: b.rows, MaxBytes: maxBytes, Accept: tc.accept})
		before := len(b.kept(t))
		_, err := files.Put(t.Context(), "telegram", chat.Media{Kind: chat.Image, MIMEType: "image/png"}, bytes.NewReader(tc.content))
		if tc.want != (err == nil) || !tc.want && !errors.Is(err, media.ErrNotAccepted) {
			t.Errorf("%s: %v", name, err)
		}
		if kept := len(b.kept(t)) - before; kept > 0 != tc.want {
			t.Errorf("%s: %d more files are kept", name, kept)
		}
	}
}

// Behaviour: file-inbound.
func TestPut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	content := bytes.Repeat([]byte{'x'}, maxBytes)
	m := b.put(t, chat.Media{Ref: "../mine", FileName: "../../etc/\u202epasswd\n", Size: 7}, content)
	if m.Ref == "../mine" || m.FileName != "passwd" || m.Size != maxBytes {
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
		b.rows.known["discord/"+string(ref)] = m // even if the store knew it
		if _, _, err := b.Open(t.Context(), "discord", ref); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%q: %v", ref, err)
		}
		if _, path, err := media.NewInbound(b.Files, b.workspace, media.SpaceOptions{}).Show("discord", chat.Media{Ref: ref}); err == nil || path != "" {
			t.Errorf("%q is shown at %q, %v", ref, path, err)
		}
	}
	if _, err := b.Put(t.Context(), "../x", chat.Media{}, bytes.NewReader(text)); err == nil {
		t.Error("an instance beside the folder")
	}

	if _, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(append(content, 'x'))); !errors.Is(err, media.ErrTooLarge) {
		t.Errorf("a byte too many: %v", err)
	}
	broken := errors.New("the line is broken")
	if _, err := b.Put(t.Context(), "telegram", chat.Media{}, io.MultiReader(bytes.NewReader(text), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken line: %v", err)
	}
	b.rows.fail = errors.New("the disk is full")
	if _, err := b.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader(text)); !errors.Is(err, b.rows.fail) {
		t.Errorf("a full disk: %v", err)
	}
	if kept := b.kept(t); len(kept) != 1 {
		t.Errorf("kept are %q", kept)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Behaviour: file-inbound.
func TestForget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Discard(); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	now := time.Now()
	path := func(m chat.Media, instance string) string { return filepath.Join(b.dir, instance, string(m.Ref)) }
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
		if err := b.Discard(); err != nil {
			t.Error(err)
		}
		if kept := b.kept(t); len(kept) != len(paths) {
			t.Errorf("left are %q, want %d", kept, len(paths))
		}
		for _, p := range paths {
			if _, err := os.Stat(p); err != nil {
				t.Error(err)
			}
		}
	}
	fresh := file("telegram", 0)
	file("telegram", media.KeptFor+time.Hour)
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
	const full = allBytes - allBytes/8 // files beyond this are removed to free space
	resize(full - 100)
	keep(fresh, large, before)
	resize(full - 40)
	keep(fresh, large)
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"report.pdf":                      "report.pdf",
		"a b\tc\n.txt":                    "a b c .txt",
		"../../etc/passwd":                "passwd",
		`C:\temp\x.doc`:                   "x.doc",
		"a/":                              "",
		"..":                              "",
		". .":                             "",
		"":                                "",
		"\u202eexe.txt":                   "exe.txt",
		"\xff\xfe":                        "",
		"👨\u200d👩\u200d👧.png":             "👨\u200d👩\u200d👧.png",
		strings.Repeat("é", 100):          strings.Repeat("é", 100),
		strings.Repeat("é", 101) + ".pdf": strings.Repeat("é", 95) + "….pdf",
		"x." + strings.Repeat("y", 200):   "x." + strings.Repeat("y", 97) + "…",
	} {
		if got := media.CleanName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
