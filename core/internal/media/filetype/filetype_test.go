package filetype_test

import (
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: file-type.
func TestTypeByContent(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"":                                        "text/plain",
		"OggS":                                    "application/ogg",
		mediatest.Opus[:28] + "\x80theora":        "video/ogg",
		mediatest.Opus[:28] + "\x01vorbis":        "audio/ogg",
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
		got, err := filetype.Settle(chat.Media{}, strings.NewReader(head), int64(len(head)))
		if err != nil || got.MIMEType != want {
			t.Errorf("%q is %s, %v, want %s", head, got.MIMEType, err, want)
		}
	}
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
		if got := filetype.CleanName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestMegabytes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		1: "0.1 KB", 1 << 10: "1 KB", 1500: "1.5 KB", 50 << 20: "50 MB", 50<<20 + 1: "50.1 MB", 10 << 20: "10 MB", 200<<20 + 1: "201 MB",
	} {
		if got := filetype.Megabytes(bytes); got != want {
			t.Errorf("%d bytes are %s, want %s", bytes, got, want)
		}
	}
}
