package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	maxFiles  = 5000      // of a folder that are listed
	maxText   = 500       // bytes of a text that are returned
	maxSearch = 256 << 20 // bytes of transcripts that one search reads
)

// Entry is a session of a folder.
type Entry struct {
	ID       string
	First    string    // the beginning of its first prompt; empty: it has none
	Found    string    // the beginning of the last text that has what was searched; empty: nothing was searched
	Prompts  int       // what people, or the host, have written
	Last     time.Time // its last change
	Terminal bool      // it was begun or continued in a terminal
	Begun    bool      // it was begun in a terminal
}

// List returns the sessions that fit, by their last change, the newest first; at most so many. Every word must be in one text of a
// session, in any case.
func (f Folder) List(ctx context.Context, most int, words []string, fits func(Entry) (bool, error)) ([]Entry, error) {
	files, err := f.files()
	if err != nil {
		return nil, err
	}
	for i, word := range words {
		words[i] = strings.ToLower(word)
	}
	var list []Entry
	left := int64(maxSearch)
	for _, e := range files {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if left <= 0 {
			break
		}
		size, err := f.read(&e, words, left)
		if left -= size; err != nil || e.Prompts == 0 || len(words) > 0 && e.Found == "" {
			continue
		}
		if ok, err := fits(e); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if list = append(list, e); len(list) == most {
			break
		}
	}
	return list, nil
}

// minPrefix is how much of an id must be given to find a session.
const minPrefix = 4

// Find returns the session that fits and whose id begins so; false: there is none, or more than one, or the transcripts of several are
// too long to tell.
func (f Folder) Find(prefix string, fits func(Entry) (bool, error)) (Entry, bool, error) {
	if len(prefix) < minPrefix {
		return Entry{}, false, nil
	}
	files, err := f.files()
	var found []Entry
	left := int64(maxSearch)
	for _, e := range files {
		if !strings.HasPrefix(e.ID, strings.ToLower(prefix)) {
			continue
		}
		if left <= 0 {
			return Entry{}, false, nil
		}
		size, err := f.read(&e, nil, left)
		if left -= size; err != nil || e.Prompts == 0 {
			continue
		}
		ok, err := fits(e)
		if err != nil {
			return Entry{}, false, err
		}
		if ok {
			found = append(found, e)
		}
	}
	if err != nil || len(found) != 1 {
		return Entry{}, false, err
	}
	return found[0], true, nil
}

// files returns the sessions of the folder, the newest first, with their ids and times only.
func (f Folder) files() (list []Entry, err error) {
	folder, err := workspace.New(string(f)).Open()
	if err != nil {
		return nil, fmt.Errorf("list transcripts: %w", err)
	}
	defer folder.Close()
	entries, _, err := folder.List(".", maxFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list transcripts: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || uuid.Validate(id) != nil {
			continue
		}
		if info, err := folder.Lstat(e.Name()); err == nil && info.Mode().IsRegular() {
			list = append(list, Entry{ID: id, Last: info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// read fills an entry from the beginning of its transcript, at most so many bytes, and returns how many it has read.
func (f Folder) read(e *Entry, words []string, most int64) (size int64, err error) {
	file, err := f.open(e.ID)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size = min(file.Info().Size(), most)
	buffered := bufio.NewReaderSize(io.LimitReader(file, size), 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			err = protocol.SkipLine(buffered)
		}
		e.take(line, words)
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

// take notes a line of the transcript.
func (e *Entry) take(line []byte, words []string) {
	// Most lines are neither of people nor of the assistant, and long.
	if !bytes.Contains(line, []byte(`"promptSource"`)) && (len(words) == 0 || !bytes.Contains(line, []byte(`"assistant"`))) {
		if !e.Terminal && bytes.Contains(line, []byte(`"entrypoint":"`+Terminal+`"`)) { // which may be part of the input of a tool
			var l struct {
				Entrypoint string `json:"entrypoint"`
			}
			e.Terminal = protocol.Unmarshal(line, &l) == nil && l.Entrypoint == Terminal
		}
		return
	}
	var l struct {
		Type       string `json:"type"`
		Sidechain  bool   `json:"isSidechain"`
		Source     string `json:"promptSource"`
		Entrypoint string `json:"entrypoint"`
		Message    struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if protocol.Unmarshal(line, &l) != nil || l.Sidechain || l.Type != "assistant" && (l.Type != "user" || l.Source == "") {
		return
	}
	e.Terminal = e.Terminal || l.Entrypoint == Terminal
	said := textOf(l.Message.Content)
	if l.Type == "user" && !strings.HasPrefix(said, "<") { // a command of the CLI's own is in marks
		if e.Prompts++; e.First == "" {
			e.First, e.Begun = beginning(said), l.Entrypoint == Terminal
		}
	}
	lower := strings.ToLower(said)
	if len(words) > 0 && said != "" && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(lower, word) }) {
		e.Found = beginning(said)
	}
}

// textOf is the text of a message's content, which is a text or a list of blocks.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks)
	var parts []string
	for _, b := range blocks {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func beginning(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}
