package config

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Media configures files.
type Media struct {
	// MaxBytes is the maximum size of a file from people; default 20 MB, of 1024 KB each.
	MaxBytes int64
	// MaxStored limits all files that the host stores, and MaxPerChannel those of one channel; default 2 GB and 1 GB.
	// MaxInbound limits their copies in the workspace, and MaxOutbound the agent's files to send; default 2 GB. Each is at
	// least eight times MaxBytes.
	MaxStored, MaxPerChannel, MaxInbound, MaxOutbound int64
	// Accept lists the types of files that people may send, such as image/* or application/pdf, by content; empty
	// (default): all.
	Accept []string
	// Transcribe is the command, with arguments, that prints the transcript of the file {file}; empty: none.
	Transcribe []string
	// FindTranscriber is set (default) if an installed program is used, because the file does not set Transcribe.
	FindTranscriber bool
	// TranscribeModel is the path of that program's model; empty (default): it is looked for.
	TranscribeModel string
	// Speak is the command that reads a text from stdin and writes it as speech to the file {out}; empty (default): none.
	Speak   []string
	Timeout time.Duration // of either; default 1 minute
	// InlineImages shows small pictures to Claude with their message; default true.
	InlineImages bool
	Fetch        bool   // send files from the web that the agent refers to by address; default false
	TTS          string // which answers are spoken: off (default), inbound, always, tagged
	// Store is where the files of messages are: [InFolder] (default with SQLite), [InDatabase] (default with PostgreSQL).
	Store string
}

// Where the files of messages are.
const (
	InFolder   = "folder"   // media in the state folder
	InDatabase = "database" // which all hosts have; the folder has copies
)

// Links configures how linked pages are read.
type Links struct {
	// Command is the command that prints the text of the page {url}; empty (default): none.
	Command []string
	// Fetch has the host read pages itself where there is no command, for people who may use commands; default true.
	Fetch   bool
	Timeout time.Duration // default 20 seconds
}

func (m *Media) block() block {
	return block{path: "media", attrs: []attr{
		{"max_bytes", size(&m.MaxBytes, 1<<10, 1<<30)},
		{"max_stored", m.folderSize(&m.MaxStored)},
		{"max_per_channel", m.folderSize(&m.MaxPerChannel)},
		{"max_inbound", m.folderSize(&m.MaxInbound)},
		{"max_outbound", m.folderSize(&m.MaxOutbound)},
		{"accept", fileTypes(&m.Accept)},
		{"transcribe", m.transcribe()},
		{"transcribe_model", m.transcribeModel()},
		{"speak", commandLine(&m.Speak, "{out}")},
		{"timeout", duration(&m.Timeout, time.Second)},
		{"inline_images", boolean(&m.InlineImages)},
		{"fetch", boolean(&m.Fetch)},
		{"tts", m.tts()},
		{"store", oneOf(&m.Store, InFolder, InDatabase)},
	}}
}

func (l *Links) block() block {
	return block{path: "links", attrs: []attr{
		{"command", commandLine(&l.Command, "{url}")},
		{"fetch", boolean(&l.Fetch)},
		{"timeout", duration(&l.Timeout, time.Second)},
	}}
}

// folderSize stores the size limit of a folder, which must fit several files of the maximum size. It is read after that
// size.
func (m *Media) folderSize(to *int64) setter {
	return func(v value) {
		size(to, 1<<20, 1<<40)(v)
		if *to > 0 && *to < minFiles*m.MaxBytes {
			v.refuse("must be at least eight times media.max_bytes, which is %s", inUnits(m.MaxBytes))
		}
	}
}

// minFiles is the minimum number of files of the maximum size that a folder must fit.
const minFiles = 8

// fillFolderSizes sets the folder limits that the file does not set.
func (m *Media) fillFolderSizes() {
	for to, usual := range map[*int64]int64{
		&m.MaxStored: 2 << 30, &m.MaxPerChannel: 1 << 30, &m.MaxInbound: 2 << 30,
		&m.MaxOutbound: 2 << 30,
	} {
		if *to == 0 {
			*to = max(usual, minFiles*m.MaxBytes)
		}
	}
}

// transcribe stores the command for voice messages, or none, instead of what is installed.
func (m *Media) transcribe() setter {
	return func(v value) {
		m.FindTranscriber = false
		commandLine(&m.Transcribe, "{file}")(v)
	}
}

// transcribeModel stores the path of an installed program's model. It is read after the command.
func (m *Media) transcribeModel() setter {
	return func(v value) {
		path(&m.TranscribeModel)(v)
		if m.TranscribeModel == "" {
			return // reported
		}
		if !m.FindTranscriber {
			v.refuse("has no effect with media.transcribe: name the model in the command")
		} else if _, err := os.Stat(m.TranscribeModel); err != nil {
			v.refuse("names a model that is not there: %s", m.TranscribeModel)
		}
	}
}

// tts stores the mode of spoken answers, which requires a command. It is read after the command.
func (m *Media) tts() setter {
	return func(v value) {
		oneOf(&m.TTS, "off", "inbound", "always", "tagged")(v)
		if m.TTS != "off" && len(m.Speak) == 0 {
			v.refuse("needs media.speak, the command that speaks")
		}
	}
}

// commandLine stores a command with its arguments, one of which contains a placeholder, or none. The program must exist: a
// host that cannot do what is configured should not start.
func commandLine(to *[]string, placeholder string) setter {
	return func(v value) {
		elements, ok := v.list()
		words := []string{}
		for i, e := range elements {
			word := ""
			if i == 0 {
				command(&word)(e)
			} else {
				text(&word)(e)
			}
			words = append(words, word)
		}
		switch {
		case !ok || len(words) > 0 && words[0] == "":
			return // reported
		case len(words) > 0 && !slices.ContainsFunc(words[1:], func(word string) bool { return strings.Contains(word, placeholder) }):
			v.refuse("must contain an argument with %s", placeholder)
			return
		}
		if len(words) > 0 {
			if _, err := exec.LookPath(words[0]); err != nil {
				elements[0].refuse("names a program that cannot be run here: %s", words[0])
				return
			}
		}
		*to = words
	}
}

// typeForm matches a MIME type, or a wildcard for its subtypes.
var typeForm = lazyregexp.New(`^[a-z]+/(\*|[a-z0-9][a-z0-9.+-]*)$`)

// fileTypes stores types of files.
func fileTypes(to *[]string) setter {
	return func(v value) {
		elements, ok := v.list()
		var types []string
		for _, e := range elements {
			t := ""
			if text(&t)(e); t == "" || !typeForm().MatchString(t) {
				e.refuse(`must be a type of file, such as "image/*" or "application/pdf"`)
				ok = false
			}
			types = append(types, t)
		}
		if ok {
			*to = types
		}
	}
}

// sizeForm matches a number of bytes with its unit.
var sizeForm = lazyregexp.New(`^([0-9]{1,6}) ?(KB|MB|GB)$`)

const mustBeSize = `must be a size, such as "20MB" or "500KB"`

// size stores a number of bytes such as "20MB", in units of 1024.
func size(to *int64, least, most int64) setter {
	return func(v value) {
		if s, ok := v.textOf(mustBeSize); ok {
			v.size(s, to, least, most)
		}
	}
}

// sizeOrNone stores a number of bytes, or zero for "0", which means no limit.
func sizeOrNone(to *int64, least, most int64) setter {
	return func(v value) {
		if s, ok := v.textOf(mustBeSize); ok && s == "0" {
			*to = 0
		} else if ok {
			v.size(s, to, least, most)
		}
	}
}

// size parses a number of bytes.
func (v value) size(text string, to *int64, least, most int64) {
	found := sizeForm().FindStringSubmatch(strings.ToUpper(text))
	if found == nil {
		v.refuse(mustBeSize)
		return
	}
	n, _ := strconv.ParseInt(found[1], 10, 64) // at most six digits
	n <<= map[string]uint{"KB": 10, "MB": 20, "GB": 30}[found[2]]
	if n < least || n > most {
		v.refuse("must be from %s to %s", inUnits(least), inUnits(most))
		return
	}
	*to = n
}

// inUnits formats a number of bytes in the largest unit that divides it.
func inUnits(n int64) string {
	for i, unit := range []string{"GB", "MB"} {
		if shift := uint(30 - 10*i); n>>shift<<shift == n && n > 0 {
			return fmt.Sprintf("%d %s", n>>shift, unit)
		}
	}
	return fmt.Sprintf("%d KB", n>>10)
}
