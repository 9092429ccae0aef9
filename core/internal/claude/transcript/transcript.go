// Package transcript finds out from the claude CLI's transcripts what happened to a message.
//
// Each session has one, as JSONL. It is written with a delay: a message's line some 100 ms after its echo, all of a
// turn before its result. Its content survives a kill of the process, so it is authoritative, not the echo:
//
// - a finished answer follows the message: that is the answer;
// - the message is missing: it is sent again, with the same id, so that it cannot run twice;
// - the message is there without a finished answer: claude is asked to continue, with an id derived from the message's
// id and the number of such requests in the transcript, so that this cannot happen twice either.
package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/exchange"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Status is the state of a message in the transcript.
type Status int

// The states of a message.
const (
	Absent Status = iota
	Unfinished
	Answered
)

// The beginning and end of the request for the rest of an answer. Like every prompt it begins with a line of the host.
const (
	cutOff = "[clawhost] The answer to the message before this one was cut off"
	goOn   = "\nSee what has been done already, do not do it twice, finish the rest, and answer that message."
)

// ContinueText asks for the rest of an answer, and says why it is missing: a failure, or, with zero, a restart.
func ContinueText(failed agent.Class) string {
	why := ", as the service behind the model failed."
	switch failed {
	case 0:
		why = " by a restart."
	case agent.Overloaded:
		why = ", as the model had no capacity."
	case agent.RateLimit:
		why = ", as the usage limit was reached."
	}
	return cutOff + why + goOn
}

// ContinueID is the id of the nth line that asks to continue a message, counted from 1.
func ContinueID(message string, n int) string {
	space, err := uuid.Parse(message)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(message))
	}
	return uuid.NewSHA1(space, []byte("go on "+strconv.Itoa(n))).String()
}

// Folder is where the CLI keeps the transcripts of a working directory.
type Folder string

// Of returns the folder of a working directory, without links, under the CLI's configuration folder.
func Of(config, dir string) Folder {
	return Folder(filepath.Join(config, "projects", slug(dir)))
}

func (f Folder) path(session string) string { return filepath.Join(string(f), session+".jsonl") }

// Has reports whether the session is on disk.
func (f Folder) Has(session string) bool {
	_, err := os.Stat(f.path(session))
	return err == nil
}

// open opens a transcript. The agent could have put something else in its place.
func (f Folder) open(session string) (*workspace.File, error) {
	folder, err := workspace.New(string(f)).Open()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Open(session + ".jsonl")
}

// Outcome is the transcript's information about a message.
type Outcome struct {
	Status      Status
	Text        string      // the answer, if there is one
	Before      []string    // earlier texts followed by a tool
	Covered     []string    // the lines that were steered into its turns
	Compactions int         // of the conversation during these turns
	Continued   int         // how many lines asked to continue it
	Failed      agent.Class // the failure after which nothing follows; zero: none
	Changes     agent.Changes
}

// Recall reads the outcome of a message, and of the lines that asked to continue it.
func (f Folder) Recall(session, message string) (Outcome, error) {
	file, err := f.open(session)
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	found, err := recall(file, message)
	if err != nil {
		return found, fmt.Errorf("read transcript: %w", err)
	}
	return found, nil
}

// Steered returns the ids of all lines that were steered into the turns of a session.
func (f Folder) Steered(session string) (map[string]bool, error) {
	file, err := f.open(session)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	ids := map[string]bool{}
	buffered := bufio.NewReaderSize(file, 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			err = protocol.SkipLine(buffered)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		var l transcriptLine
		if bytes.Contains(line, []byte(`"source_uuid"`)) && protocol.Unmarshal(line, &l) == nil && l.Attachment.UUID != "" {
			ids[l.Attachment.UUID] = true
		}
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
	}
}

// transcriptLine is the part of a line that recall reads.
type transcriptLine struct {
	Type      string            `json:"type"`
	Subtype   string            `json:"subtype"`
	UUID      string            `json:"uuid"`
	Sidechain bool              `json:"isSidechain"`
	Source    string            `json:"promptSource"` // set: a line that was written to the CLI
	Error     string            `json:"error"`        // of the CLI's own message about a failure
	APIError  string            `json:"apiErrorType"` // the same, as the API calls it
	Message   *protocol.Message `json:"message"`
	Reported  json.RawMessage   `json:"toolUseResult"` // see [protocol.ReadChange]
	// Attachment is a line that was read while a tool ran.
	Attachment struct {
		UUID string `json:"source_uuid"`
	} `json:"attachment"`
}

// recall searches a transcript for a message, for the lines that asked to continue it, and for the answer after them.
func recall(r io.Reader, message string) (Outcome, error) {
	m := memory{message: message, ids: map[string]bool{message: true, ContinueID(message, 1): true}}
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := protocol.ReadLine(buffered)
		if errors.Is(err, protocol.ErrLineTooLong) {
			err = protocol.SkipLine(buffered) // no message of a resumable session is this long
		}
		var l transcriptLine
		if (m.Status != Absent || mentions(line, m.ids)) && protocol.Unmarshal(line, &l) == nil && !l.Sidechain {
			m.take(&l)
		}
		if errors.Is(err, io.EOF) {
			if m.Status == Answered {
				m.Text = m.answer.String()
			}
			return m.Outcome, nil
		}
		if err != nil {
			return m.Outcome, err
		}
	}
}

// memory is the state of a recall.
type memory struct {
	Outcome

	message string
	ids     map[string]bool // of the message, and of the lines that asked or may ask to continue it
	over    bool            // a later message follows
	answer  exchange.Answer
	uses    exchange.Changes
}

// take handles the next line of the transcript.
func (m *memory) take(l *transcriptLine) {
	switch {
	case m.ids[l.UUID] || m.ids[l.Attachment.UUID]:
		m.Status, m.Failed, m.over, m.answer = Unfinished, 0, false, exchange.Answer{}
		if l.UUID == ContinueID(m.message, m.Continued+1) {
			m.Continued++
			m.ids[ContinueID(m.message, m.Continued+1)] = true
		}
	case m.Status == Absent || m.over:
	case l.Attachment.UUID != "":
		m.Covered = append(m.Covered, l.Attachment.UUID)
	case l.Subtype == "compact_boundary" && m.Status == Answered:
		m.over = true // the host had the conversation compacted after the turn
	case l.Subtype == "compact_boundary":
		m.Compactions++
	case l.Message == nil:
	case l.Type == "assistant" && l.Message.Model == protocol.SyntheticModel:
		m.Failed = l.failure()
	case l.Type == "assistant":
		m.Failed = 0
		m.Before = append(m.Before, m.answer.Add(l.Message)...)
		m.uses.Assistant(l.Message)
		if m.Status = Unfinished; finishes(l.Message.StopReason) {
			m.Status = Answered
		}
	case l.Type == "user" && l.Source != "" && asksToGoOn(l.Message):
		m.Status, m.answer = Unfinished, exchange.Answer{} // together with the message that this one was steered to
	case l.Type == "user" && l.Source != "":
		m.over = true
	case l.Type == "user":
		m.Status = Unfinished // a tool's result, or the CLI asks for more: the turn continued
		m.answer.User(l.Message)
		if change, changed, delegated := m.uses.User(l.Message, l.Reported); changed {
			added, removed := change.Count()
			m.Changes.Add(change.Path, added, removed)
		} else if delegated {
			m.Changes.Delegated = true
		}
	}
}

// failure returns the class of failure that a line of the CLI reports, as far as [ContinueText] tells classes apart; zero: it
// reports none.
func (l *transcriptLine) failure() agent.Class {
	switch {
	case l.Error == "":
		return 0
	case l.Error == "rate_limit":
		return agent.RateLimit
	case l.Error == "overloaded", l.APIError == "overloaded_error":
		return agent.Overloaded
	default:
		return agent.Server
	}
}

// asksToGoOn reports whether a message is the host's request for the rest of an answer.
func asksToGoOn(m *protocol.Message) bool {
	return len(m.Content) == 1 && strings.HasPrefix(m.Content[0].Text, cutOff) && strings.HasSuffix(m.Content[0].Text, goOn)
}

// mentions reports whether a line can be about one of the ids. It avoids decoding a long history.
func mentions(line []byte, ids map[string]bool) bool {
	for id := range ids {
		if bytes.Contains(line, []byte(id)) {
			return true
		}
	}
	return false
}

// finishes reports whether a message with this stop reason ends its turn.
func finishes(reason string) bool { return reason == "end_turn" || reason == "stop_sequence" }

// slug is the name of a working directory's folder among the CLI's projects, as observed: each UTF-16 unit that is not
// a letter or digit becomes "-"; a name longer than 200 is cut and gets a 32-bit hash of the path.
func slug(dir string) string {
	const limit = 200
	var b strings.Builder
	var hash int32
	for _, unit := range utf16.Encode([]rune(dir)) {
		hash = hash*31 + int32(unit)
		switch {
		case unit >= '0' && unit <= '9', unit >= 'A' && unit <= 'Z', unit >= 'a' && unit <= 'z':
			b.WriteByte(byte(unit))
		default:
			b.WriteByte('-')
		}
	}
	name := b.String()
	if len(name) <= limit {
		return name
	}
	positive := int64(hash)
	if positive < 0 {
		positive = -positive
	}
	return name[:limit] + "-" + strconv.FormatInt(positive, 36)
}
