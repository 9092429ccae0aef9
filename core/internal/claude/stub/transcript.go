package stub

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
)

// transcript is the session's file, at the place and in the shape of the CLI's. It is created by the first message.
type transcript struct {
	entry   string // sdk-cli, or cli in a terminal
	path    string
	session string
	workDir string
	file    *os.File
	parent  string
	copied  []map[string]any // lines of the conversation that this one is forked from, which come first
	history []string         // the texts of the user's side
	refused bool             // one of them has the conversation rejected
	demo    bool             // there are no scripts in the texts

	asked    map[string]bool // uuids of the user lines; true: something of the assistant follows
	last     string          // the uuid of the last user line
	open     string          // the text of the last user line while it has no answer
	crashed  map[string]bool // uuids whose scripted crash has happened
	marksLog string
}

// refusal is a line with which the CLI refuses to start.
type refusal string

func (r refusal) Error() string { return string(r) }

// openTranscript finds the session. The errors are the CLI's own lines.
func openTranscript(opts *options) (*transcript, error) {
	dir, err := filepath.EvalSymlinks(opts.workDir)
	if err != nil {
		return nil, err
	}
	path := func(session string) string { // it stays where the session began
		if found, _ := filepath.Glob(filepath.Join(opts.conf, "projects", "*", session+".jsonl")); len(found) == 1 {
			return found[0]
		}
		return filepath.Join(opts.conf, "projects", slug(dir), session+".jsonl")
	}
	t := &transcript{
		path: path(opts.session), session: opts.session, entry: opts.entry, demo: opts.demo, workDir: dir, asked: map[string]bool{}, crashed: map[string]bool{},
	}
	t.marksLog = t.path + ".crashed"
	if marks, err := os.ReadFile(t.marksLog); err == nil {
		for _, mark := range strings.Fields(string(marks)) {
			t.crashed[mark] = true
		}
	}
	source := opts.session
	if opts.forkOf != "" {
		if _, err := os.Stat(t.path); err == nil {
			return nil, refusal("Error: Session ID " + opts.session + " is already in use.")
		}
		source = opts.forkOf
	}
	file, err := os.Open(path(source))
	switch {
	case errors.Is(err, os.ErrNotExist) && (opts.resume || opts.forkOf != ""):
		return nil, refusal("No conversation found with session ID: " + source)
	case errors.Is(err, os.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, err
	}
	defer file.Close()
	if !opts.resume && opts.forkOf == "" {
		return nil, refusal("Error: Session ID " + opts.session + " is already in use.")
	}
	if err := t.read(file, opts.forkOf != ""); err != nil {
		return nil, err
	}
	if t.parent == "" {
		return nil, refusal("No conversation found with session ID: " + source)
	}
	return t, nil
}

// entry is the part of a transcript's line that the stub reads.
type entry struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	UUID    string `json:"uuid"`
	Failed  bool   `json:"isApiErrorMessage"`
	Message struct {
		Content    json.RawMessage `json:"content"`
		StopReason string          `json:"stop_reason"`
	} `json:"message"`
	Attachment struct {
		Prompt string `json:"prompt"`
	} `json:"attachment"`
}

// read takes the state from the lines on disk, and keeps the lines themselves for a fork. A torn last line is skipped,
// as the CLI does.
func (t *transcript) read(r io.Reader, keep bool) error {
	buffered := bufio.NewReader(r)
	for {
		data, err := buffered.ReadBytes('\n')
		var e entry
		if json.Unmarshal(data, &e) == nil {
			t.take(e)
			var l map[string]any
			if keep && json.Unmarshal(data, &l) == nil && l["uuid"] != nil {
				t.copied = append(t.copied, l)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *transcript) take(e entry) {
	var text string
	switch e.Type {
	case "user":
		t.parent = e.UUID
		if json.Unmarshal(e.Message.Content, &text) != nil {
			if strings.Contains(string(e.Message.Content), "[Request interrupted") {
				t.open = ""
			}
			return // a tool result or a note
		}
		if strings.HasPrefix(text, "<command-name>") {
			t.asked[e.UUID], t.last, t.open = true, e.UUID, ""
			return
		}
		t.add(text)
		t.asked[e.UUID], t.last = false, e.UUID
		if t.open == "" || !strings.Contains(text, "was cut off") { // otherwise it asks for the open answer
			t.open = text
		}
	case "assistant":
		t.parent = e.UUID
		t.asked[t.last] = true
		if e.Message.StopReason != "tool_use" && !e.Failed {
			t.open = ""
		}
	case "attachment":
		t.add(e.Attachment.Prompt)
	case "system":
		if e.Subtype == "compact_boundary" {
			t.history = []string{"(compacted)"}
		}
	}
}

// write appends lines in one write, so that a kill leaves all of them or none.
func (t *transcript) write(lines ...map[string]any) error {
	if t.file == nil {
		if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
			return err
		}
		file, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		t.file = file
		if info, err := file.Stat(); err == nil && info.Size() > 0 {
			last := make([]byte, 1)
			if _, err := file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
				if _, err := file.WriteString("\n"); err != nil {
					return err
				}
			}
		}
	}
	var all []byte
	lines = append(t.copied, lines...)
	copied := len(t.copied)
	t.copied = nil
	for i, l := range lines {
		l["sessionId"], l["timestamp"] = t.session, time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		if i >= copied && l["type"] != "queue-operation" {
			if l["uuid"] == nil {
				l["uuid"] = uuid.NewString()
			}
			if l["parentUuid"] = nil; t.parent != "" {
				l["parentUuid"] = t.parent
			}
			t.parent, _ = l["uuid"].(string)
			l["isSidechain"], l["cwd"], l["version"], l["entrypoint"] = false, t.workDir, Version, t.entry
		}
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		all = append(append(all, data...), '\n')
	}
	_, err := t.file.Write(all)
	return err
}

// add notes a text of the user's side.
func (t *transcript) add(text string) {
	var script Script
	if !t.demo {
		script, _ = directive(text, Script{})
	}
	t.refused = t.refused || script.Rejected == "always" || script.Rejected == "conversation" && len(t.history) > 0
	t.history = append(t.history, text)
}

// wait records that a line waits for the running turn.
func (t *transcript) wait(m message) error {
	return t.write(map[string]any{"type": "queue-operation", "operation": "enqueue", "content": m.text})
}

// ask records a user line.
func (t *transcript) ask(m message) error {
	t.asked[m.uuid], t.last = false, m.uuid
	if t.open == "" || !strings.Contains(m.text, "was cut off") {
		t.open = m.text
	}
	t.add(m.text)
	return t.write(
		map[string]any{"type": "queue-operation", "operation": "enqueue", "content": m.text},
		map[string]any{"type": "queue-operation", "operation": "dequeue"},
		map[string]any{
			"type": "user", "uuid": m.uuid, "message": map[string]any{"role": "user", "content": m.text},
			"promptSource": "sdk", "permissionMode": "default",
		},
	)
}

// steer records a line that was added to a turn.
func (t *transcript) steer(m message) error {
	t.add(m.text)
	return t.write(
		map[string]any{
			"type": "queue-operation", "operation": "remove", "content": m.text, "reason": "absorbed_mid_turn",
			"commandUuid": m.uuid,
		},
		map[string]any{"type": "attachment", "attachment": map[string]any{
			"type": "queued_command", "prompt": m.text, "source_uuid": m.uuid, "commandMode": "prompt",
		}},
	)
}

// compact records that the conversation continues from its summary.
func (t *transcript) compact() error {
	t.history = []string{"(compacted)"}
	return t.write(
		map[string]any{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false},
		map[string]any{
			"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
			"message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": summary}}},
		},
	)
}

// command records a command of the CLI that was run.
func (t *transcript) command(m message, text string) error {
	t.asked[m.uuid], t.last, t.open = true, m.uuid, ""
	return t.write(map[string]any{
		"type": "user", "uuid": m.uuid, "message": map[string]any{"role": "user", "content": text},
	})
}

// note records a user line of the CLI's own: a tool's result, with what the tool reports, or the mark of an interrupt.
func (t *transcript) note(content []any, reported map[string]any) error {
	l := map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}}
	if reported != nil {
		l["toolUseResult"] = reported
	}
	return t.write(l)
}

// answer records a message of the assistant; failed is nil, or the failure that the CLI itself reports by it.
func (t *transcript) answer(content []any, id, model, stop string, failed *failure) error {
	t.asked[t.last] = true
	if stop != "tool_use" && failed == nil {
		t.open = ""
	}
	l := map[string]any{"type": "assistant", "message": map[string]any{
		"id": id, "role": "assistant", "type": "message", "model": model, "content": content, "stop_reason": stop,
	}}
	if failed != nil {
		l["isApiErrorMessage"], l["error"] = true, failed.error
		if failed.status == 529 {
			l["apiErrorType"] = "overloaded_error"
		}
	}
	return t.write(l)
}

// crashOnce reports whether the scripted crash of a message is due, and remembers that it was.
func (t *transcript) crashOnce(id string) bool {
	if t.crashed[id] {
		return false
	}
	t.crashed[id] = true
	if os.MkdirAll(filepath.Dir(t.marksLog), 0o700) != nil {
		return false
	}
	file, err := os.OpenFile(t.marksLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = file.WriteString(id + "\n")
	return err == nil
}

func (t *transcript) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// slug is the name of a working directory's folder among the CLI's projects: each UTF-16 unit but letters and digits
// becomes "-"; what is longer than 200 is cut and gets a hash of the path.
func slug(dir string) string {
	units := utf16.Encode([]rune(dir))
	var b strings.Builder
	var hash int32
	for _, u := range units {
		hash = hash*31 + int32(u)
		if u < 128 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	if b.Len() <= 200 {
		return b.String()
	}
	sum := int64(hash)
	if sum < 0 {
		sum = -sum
	}
	return b.String()[:200] + "-" + strconv.FormatInt(sum, 36)
}
