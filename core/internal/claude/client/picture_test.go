package client

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// written is a process that keeps what it is sent.
type written struct {
	Process
	lines []string
}

func (w *written) Send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.lines = append(w.lines, string(line))
}

// Pictures are blocks behind the text. One that cannot be read, or is too large by now, fails nothing, and there are at
// most four.
// Behaviour: file-inline.
func TestPicturesAreWrittenWithTheText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, size int) agent.Picture {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat("p", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		return agent.Picture{Path: path, Type: "image/png"}
	}
	good, large, empty := file("good", 3), file("large", agent.MaxPicture+1), file("empty", 0)
	most := file("most", agent.MaxPicture)
	gone := agent.Picture{Path: filepath.Join(dir, "gone"), Type: "image/png"}
	block := `{"source":{"data":"` + base64.StdEncoding.EncodeToString([]byte("ppp")) + `","media_type":"image/png","type":"base64"},"type":"image"}`
	for name, test := range map[string]struct {
		pictures []agent.Picture
		content  string
		size     int
	}{
		"none":         {nil, `"content":"[host] look"`, 0},
		"one":          {[]agent.Picture{good}, `"content":[{"text":"[host] look","type":"text"},` + block + `]`, 0},
		"unreadable":   {[]agent.Picture{gone, large, empty}, `"content":"[host] look"`, 0},
		"among others": {[]agent.Picture{gone, good}, `"content":[{"text":"[host] look","type":"text"},` + block + `]`, 0},
		"too many":     {[]agent.Picture{most, most, most, most, good}, `{"text":"[host] look","type":"text"}`, 4 * agent.MaxPicture * 4 / 3},
	} {
		w := &written{}
		c := &Client{process: w, log: hclog.NewNullLogger()}
		c.say(agent.Line{UUID: "u", Text: "[host] look", Pictures: test.pictures})
		if len(w.lines) != 1 || !strings.Contains(w.lines[0], test.content) || len(w.lines[0]) > test.size+1000 || len(w.lines[0]) < test.size {
			t.Errorf("%s: %d bytes, %.200s", name, len(w.lines[0]), w.lines[0])
		}
	}
}
