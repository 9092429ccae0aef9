package media_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

const (
	// rounds is how often a page is read. The least processor time counts.
	rounds = 3
	// slow is the processor time above which a page is read only once.
	slow = 500 * time.Millisecond
)

// hostilePages are pages that are made so that reading them takes long: a beginning, and a text that is repeated after it up to
// the maximum size. In the text, %d stands for the number of the repetition.
var hostilePages = map[string][2]string{
	"attributes of html":          {"", "<html a%d=1>"},
	"attributes of body":          {"", "<body a%d=1>"},
	"attributes of an element":    {"<p", " a%d=1"},
	"ends of no paragraph, deep":  {strings.Repeat("<div>", 500), "</p>"},
	"ends of bold text, deep":     {strings.Repeat("<div><b>", 240), "</b>x"},
	"ends of links, deep":         {strings.Repeat("<div><a>", 240), "</a>x"},
	"bold text in paragraphs":     {strings.Repeat("<b>", 500), "<p>"},
	"different fonts":             {"", "<font size=%d><p>"},
	"links that do not end":       {"", "<a href=/%d>"},
	"formatting that does not":    {"", "<nobr>"},
	"tables in tables":            {"", "<table>"},
	"text that is no cell":        {"<table>", "x<tr>"},
	"bold text that is no cell":   {"<table>", "<b>x"},
	"rows":                        {"<table>", "<tr><td>a<td>b"},
	"templates":                   {"", "<template>"},
	"drawings":                    {"", "<svg><p>"},
	"formulas":                    {"", "<math><mi>"},
	"choices":                     {"", "<select><option>"},
	"forms":                       {"", "<form><input>"},
	"comments":                    {"", "<!--"},
	"references":                  {"", "&amp"},
	"unknown references":          {"", "&a%d;"},
	"one word":                    {"", "x"},
	"breaks":                      {"", "x<br><br>"},
	"paragraphs":                  {"", "<p>x, y</p>"},
	"as many elements as allowed": {strings.Repeat("<p>a, b, c", 29_000), "x"},
	"spans":                       {"", "<span>x</span>"},
	"deep text":                   {"", strings.Repeat("<div>", 400) + "text, text, text" + strings.Repeat("</div>", 400)},
	"a title":                     {"<title>", "a | "},
	"headings":                    {"<title>a</title>", "<h1>a</h1>"},
	"classes":                     {"<div class='", "a "},
	"an address":                  {"<a href='", "a/../"},
	"sources of a picture":        {"<img src=x srcset='", "a 1x,"},
	"styles":                      {"<div style='", "display:none;"},
	"metadata":                    {"", "<meta property=og:title content=x>"},
	"data":                        {"<script type=application/ld+json>", "["},
	"pictures without scripts":    {"", "<noscript><img src=x></noscript>"},
	"comments of readers":         {"", "<div class='comment sidebar'>x</div>"},
	"declarations":                {"", "<?xml "},
}

// Whatever a page contains, reading it takes no longer than the limit of its process.
// Behaviour: links-bounded.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	size := media.MaxHTML
	if raceDetected() {
		size /= 16 // the processes are many times slower
	}
	harmless := strings.Repeat("<p>Tea is made of leaves, which one pours <b>hot water</b> over, as <a href=/x?y=1>everybody</a> knows.</p>\n", size/110)
	usual, end := readFor(t, harmless)
	if end != "read" {
		t.Fatalf("a harmless page is %s", end)
	}
	table := newTable(t, "page", usual)
	for name, of := range hostilePages {
		took, end := readFor(t, filled(of[0], of[1], size))
		if most := media.PageCPU + time.Second; took > most {
			t.Errorf("%s: reading took %v of processor time, more than %v", name, took, most)
		}
		table.add(name, size, took, end)
	}
	table.print()
}

// filled returns a beginning that is followed by repetitions of a text, cut to a size in bytes.
func filled(begin, repeated string, size int) string {
	var text strings.Builder
	text.WriteString(begin)
	for n := 0; text.Len() < size; n++ {
		text.WriteString(strings.ReplaceAll(repeated, "%d", strconv.Itoa(n)))
	}
	return text.String()[:size]
}

// readFor reads a page in a process as the host does. It returns the processor time that this took.
func readFor(t *testing.T, page string) (least time.Duration, end string) {
	t.Helper()
	for round := 0; round < rounds && least < slow; round++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, process.Self(), media.PageCommand)
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=10") // with the race detector it would take a second to end
		var stdout, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = io.MultiReader(strings.NewReader("https://a.example/\n"), strings.NewReader(page)), &stdout, &stderr
		var family *process.Family
		err := family.Run(cmd, "page")
		took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if round == 0 || took < least {
			least = took
		}
		switch {
		case err == nil:
			end = "read"
		case strings.HasPrefix(stderr.String(), "read a page: "):
			end = "refused"
		default:
			return took, "ended by its limit"
		}
		if stdout.Len() > media.MaxPage+1 {
			t.Errorf("%d bytes were read", stdout.Len())
		}
	}
	return least, end
}

// table lists how long inputs took, as multiples of a harmless one.
type table struct {
	t     *testing.T
	about string
	usual time.Duration
	lines []string
}

func newTable(t *testing.T, about string, usual time.Duration) *table {
	return &table{t: t, about: about, usual: usual}
}

func (l *table) ratio(took time.Duration) float64 { return float64(took) / float64(l.usual) }

func (l *table) add(name string, size int, took time.Duration, end string) {
	l.lines = append(l.lines, fmt.Sprintf("| %s | %d KB | %.1f | %s |", name, size>>10, l.ratio(took), end))
}

func (l *table) print() {
	slices.Sort(l.lines)
	l.t.Logf("a harmless %s takes %v\n| %s | size | ratio | end |\n|---|---|---|---|\n%s", l.about, l.usual.Round(10*time.Microsecond), l.about, strings.Join(l.lines, "\n"))
}

// The host itself reads the beginnings of files, names, links and plain pages. No hostile one takes longer than a limited multiple
// of a harmless one of the same size.
// Behaviour: links-bounded, file-type.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	const (
		size = 1 << 18
		most = 300 // times as long as a harmless one; quadratic work would take thousands of times as long
	)
	settle := func(content string) { _, _ = media.Settle(chat.Media{}, []byte(content)) }
	links := func(text string) { media.Links(text) }
	for about, parser := range map[string]struct {
		parse    func(string)
		harmless string
		hostile  map[string]string
	}{
		"file": {settle, filled("\x89PNG\r\n\x1a\n", chunk("teXt", strings.Repeat("x", 500)), size), map[string]string{
			"JPEG of small segments":          jpegOf(segment(0xfe, 0), size),
			"JPEG of filling":                 filled("\xff\xd8", "\xff", size),
			"PNG of empty chunks":             filled("\x89PNG\r\n\x1a\n", chunk("teXt", ""), size),
			"PNG of empty chunks, palette":    filled("\x89PNG\r\n\x1a\n"+chunk("IHDR", "\x00\x00\x10\x00\x00\x00\x10\x00\x08\x03\x00\x00\x00"), chunk("teXt", ""), size),
			"GIF of extensions":               filled("GIF89a\x10\x00\x10\x00\x00\x00\x00", "!\xfe\x00", size),
			"WebP":                            filled("RIFF\xff\xff\xff\x7fWEBPVP8X", "\x00", size),
			"Ogg pages":                       filled("", "OggS\x00", size),
			"boxes":                           filled("\x00\x00\x00\x18ftypM4A ", "\x00\x00\x00\x08free", size),
			"Matroska":                        filled("\x1a\x45\xdf\xa3", "A_webV_", size),
			"text":                            filled("", "<sv", size),
			"spaces":                          filled("", " ", size),
			"nothing":                         strings.Repeat("\x00", size),
			"a sound with an ID3 tag of text": filled("ID3\x03\x00\x00\x00\x00\x00\x00", "#EXTM3U\n", size),
		}},
		"plain page": {func(text string) { _ = media.Plain([]byte(text), "text/plain") }, filled("", "Tea is made of leaves.\n", size), map[string]string{
			"a charset at every place": filled("", "<meta charset=x>", size),
			"charsets in an element":   filled("<meta ", "charset=", size),
			"a comment":                filled("", "<!--", size),
			"half characters":          filled("", "\xe2\x82", size),
			"escapes of 2022-JP":       filled("<meta charset=iso-2022-jp>", "\x1b$B", size),
			"GB 18030":                 filled("<meta charset=gb18030>", "\x810\x810", size),
			"Big5":                     filled("<meta charset=big5>", "\x88\x62", size),
		}},
		"text with links": {links, filled("", "Tea is made of leaves. ", size) + " https://a.example", map[string]string{
			"one link":              filled("https://a.example/", "x", size),
			"closing brackets":      filled("", "https://a.example/"+strings.Repeat(")", 4000)+" ", size),
			"brackets and dots":     filled("", "https://a.example/"+strings.Repeat(".)", 2000)+" ", size),
			"three kinds":           filled("", "https://a.example/"+strings.Repeat("}])", 1300)+" ", size),
			"open and closing":      filled("", "https://a.example/"+strings.Repeat("(", 1000)+strings.Repeat(")", 3000)+" ", size),
			"beginnings":            filled("", "https://", size),
			"beginnings and spaces": filled("", "http:// ", size),
			"almost beginnings":     filled("", "http:/", size),
			"letters":               filled("", "h", size),
		}},
		"name": {func(text string) { media.CleanName(text) }, filled("", "a photo of the sea ", size) + ".jpg", map[string]string{
			"dots":           filled("", ".", size),
			"slashes":        filled("", "/", size),
			"spaces":         filled("", " ", size),
			"invisible":      filled("", "\u200b", size),
			"half letters":   filled("", "\xe2\x82", size),
			"endings":        filled("", ".jpg", size),
			"joined letters": filled("", "a\u200d", size),
		}},
	} {
		usual := linear.Time(func() { parser.parse(parser.harmless) })
		table := newTable(t, about, usual)
		for name, content := range parser.hostile {
			took := linear.Time(func() { parser.parse(content) })
			if table.ratio(took) > most {
				t.Errorf("%s: %s takes %v, %.0f times as long as a harmless one", about, name, took, table.ratio(took))
			}
			table.add(name, len(content), took, "read")
		}
		table.print()
	}
}

// chunk is a part of a PNG file.
func chunk(name, data string) string {
	text := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	text = append(append(text, name...), data...)
	return string(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text[4:])))
}

// segment is a part of a JPEG file.
func segment(marker byte, data int) string {
	return "\xff" + string([]byte{marker}) + string(binary.BigEndian.AppendUint16(nil, uint16(data+2))) + strings.Repeat("x", data)
}

// jpegOf is a JPEG file whose dimensions follow after many segments.
func jpegOf(segment string, size int) string {
	return "\xff\xd8" + strings.Repeat(segment, size/len(segment)) + "\xff\xc0\x00\x0b\x08\x10\x00\x10\x00\x01\x01\x11\x00"
}
