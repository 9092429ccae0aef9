package filetype

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName   = 100 // characters of a file's name
	maxEnding = 12  // characters of its ending, with the dot
)

// CleanName sanitizes an untrusted file name for display and for networks: its last part, on one line, without invisible
// characters, of limited length. It is never used as a path. The result may be "".
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	const joiner = '\u200d' // of emoji
	name = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != joiner:
			return -1
		}
		return r
	}, name)), " ")
	if strings.Trim(name, ". ") == "" {
		return ""
	}
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	ending := filepath.Ext(name)
	if utf8.RuneCountInString(ending) > maxEnding {
		ending = ""
	}
	runes := []rune(name)
	return strings.TrimRight(string(runes[:maxName-utf8.RuneCountInString(ending)-1]), " ") + "…" + ending
}

// endings maps file name extensions to types. The first extension of a type is its usual one.
var endings = []struct{ ending, mimeType string }{
	{".jpg", "image/jpeg"},
	{".jpeg", "image/jpeg"},
	{".png", "image/png"},
	{".gif", "image/gif"},
	{".webp", "image/webp"},
	{".bmp", "image/bmp"},
	{".tiff", "image/tiff"},
	{".heic", "image/heic"},
	{".avif", "image/avif"},
	{".svg", "image/svg+xml"},
	{".ogg", "audio/ogg"},
	{".ogg", "application/ogg"},
	{".mp3", "audio/mpeg"},
	{".m4a", "audio/mp4"},
	{".m4a", "audio/x-m4a"},
	{".aac", "audio/aac"},
	{".flac", "audio/flac"},
	{".amr", "audio/amr"},
	{".wav", "audio/wav"},
	{".weba", "audio/webm"},
	{".mp4", "video/mp4"},
	{".mov", "video/quicktime"},
	{".webm", "video/webm"},
	{".mkv", "video/x-matroska"},
	{".3gp", "video/3gpp"},
	{".avi", "video/avi"},
	{".ogv", "video/ogg"},
	{".pdf", "application/pdf"},
	{".zip", "application/zip"},
	{".gz", "application/x-gzip"},
	{".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
	{".odt", "application/vnd.oasis.opendocument.text"},
	{".ods", "application/vnd.oasis.opendocument.spreadsheet"},
	{".odp", "application/vnd.oasis.opendocument.presentation"},
	{".epub", "application/epub+zip"},
	{".apk", "application/vnd.android.package-archive"},
	{".doc", "application/msword"},
	{".xls", "application/vnd.ms-excel"},
	{".ppt", "application/vnd.ms-powerpoint"},
	{".txt", "text/plain"},
	{".csv", "text/csv"},
	{".md", "text/markdown"},
	{".html", "text/html"},
	{".htm", "text/html"},
	{".css", "text/css"},
	{".js", "text/javascript"},
	{".js", "application/javascript"},
	{".py", "text/x-python"},
	{".go", "text/x-go"},
	{".sh", "application/x-sh"},
	{".ics", "text/calendar"},
	{".vcf", "text/vcard"},
	{".xml", "text/xml"},
	{".xml", "application/xml"},
	{".json", "application/json"},
	{".yaml", "application/yaml"},
	{".yaml", "application/x-yaml"},
	{".yml", "application/yaml"},
	{".toml", "application/toml"},
	{".sql", "application/sql"},
}

// Ending returns the usual extension of a type. Text types without one get that of plain text, unknown types none.
func Ending(mimeType string) string {
	base := Base(mimeType)
	for _, e := range endings {
		if e.mimeType == base {
			return e.ending
		}
	}
	if strings.HasPrefix(base, "text/") {
		return ".txt"
	}
	return ""
}

// typeByEnding returns the type for a file name's extension, or "".
func typeByEnding(name string) string {
	found := strings.ToLower(filepath.Ext(name))
	for _, e := range endings {
		if e.ending == found {
			return e.mimeType
		}
	}
	return ""
}
