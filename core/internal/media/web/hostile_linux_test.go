package web_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/web"
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
	size := web.MaxHTML
	if raceDetected() {
		size /= 16 // the processes are many times slower
	}
	harmless := strings.Repeat("<p>Tea is made of leaves, which one pours <b>hot water</b> over, as <a href=/x?y=1>everybody</a> knows.</p>\n", size/110)
	usual, end := readFor(t, harmless)
	if end != "read" {
		t.Fatalf("a harmless page is %s", end)
	}
	table := mediatest.NewTable(t, "page", usual)
	for name, of := range hostilePages {
		took, end := readFor(t, mediatest.Filled(of[0], of[1], size))
		if most := web.PageCPU + time.Second; took > most {
			t.Errorf("%s: reading took %v of processor time, more than %v", name, took, most)
		}
		table.Add(name, size, took, end)
	}
	table.Print()
}

// readFor reads a page in a process as the host does. It returns the processor time that this took.
func readFor(t *testing.T, page string) (least time.Duration, end string) {
	t.Helper()
	for round := 0; round < rounds && least < slow; round++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, process.Self(), web.PageCommand)
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
		if stdout.Len() > web.MaxPage+1 {
			t.Errorf("%d bytes were read", stdout.Len())
		}
	}
	return least, end
}

// The host itself reads links and plain pages. No hostile one takes longer than a limited multiple of a harmless one of the same size.
// Behaviour: links-bounded.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	links := func(text string) { web.Links(text) }
	mediatest.Hostile(t, "plain page", func(text string) { _ = web.Plain([]byte(text), "text/plain") }, mediatest.Filled("", "Tea is made of leaves.\n", size), map[string]string{
		"a charset at every place": mediatest.Filled("", "<meta charset=x>", size),
		"charsets in an element":   mediatest.Filled("<meta ", "charset=", size),
		"a comment":                mediatest.Filled("", "<!--", size),
		"half characters":          mediatest.Filled("", "\xe2\x82", size),
		"escapes of 2022-JP":       mediatest.Filled("<meta charset=iso-2022-jp>", "\x1b$B", size),
		"GB 18030":                 mediatest.Filled("<meta charset=gb18030>", "\x810\x810", size),
		"Big5":                     mediatest.Filled("<meta charset=big5>", "\x88\x62", size),
	})
	mediatest.Hostile(t, "text with links", links, mediatest.Filled("", "Tea is made of leaves. ", size)+" https://a.example", map[string]string{
		"one link":              mediatest.Filled("https://a.example/", "x", size),
		"closing brackets":      mediatest.Filled("", "https://a.example/"+strings.Repeat(")", 4000)+" ", size),
		"brackets and dots":     mediatest.Filled("", "https://a.example/"+strings.Repeat(".)", 2000)+" ", size),
		"three kinds":           mediatest.Filled("", "https://a.example/"+strings.Repeat("}])", 1300)+" ", size),
		"open and closing":      mediatest.Filled("", "https://a.example/"+strings.Repeat("(", 1000)+strings.Repeat(")", 3000)+" ", size),
		"beginnings":            mediatest.Filled("", "https://", size),
		"beginnings and spaces": mediatest.Filled("", "http:// ", size),
		"almost beginnings":     mediatest.Filled("", "http:/", size),
		"letters":               mediatest.Filled("", "h", size),
	})
}
