package stub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a change of a file: by the tool Edit, or, without an old text, by Write.
type File struct {
	Path    string `json:"path"` // may be relative to the working folder
	Content string `json:"content,omitempty"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// checkpoints are the files as they were before each message, like those of the CLI. They are kept on disk.
type checkpoints struct {
	path string // empty: they are switched off

	Tracked   []string           `json:"tracked"` // the files that were changed, in order
	First     map[string]*string `json:"first"`   // as they were before their first change; nil: there was none
	Snapshots []snapshot         `json:"snapshots"`
}

// snapshot is how the tracked files were when a message began.
type snapshot struct {
	Message string             `json:"message"`
	Files   map[string]*string `json:"files"`
}

func openCheckpoints(opts options) *checkpoints {
	c := &checkpoints{First: map[string]*string{}}
	if opts.checkpoints {
		c.path = filepath.Join(opts.conf, "file-history", opts.session, "stub.json")
		if data, err := os.ReadFile(c.path); err == nil {
			_ = json.Unmarshal(data, c) // the stub wrote it
		}
	}
	return c
}

// content is a file's; nil: there is none.
func content(path string) *string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return new(string(data))
}

func (c *checkpoints) save() error {
	if c.path == "" {
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.path, data, 0o600)
}

// begin keeps the tracked files as a message begins.
func (c *checkpoints) begin(message string) error {
	if c.path == "" {
		return nil
	}
	s := snapshot{Message: message, Files: map[string]*string{}}
	for _, path := range c.Tracked {
		s.Files[path] = content(path)
	}
	c.Snapshots = append(c.Snapshots, s)
	if len(c.Tracked) == 0 {
		return nil // the first change saves it
	}
	return c.save()
}

// track keeps a file before its first change.
func (c *checkpoints) track(path string) error {
	if slices.Contains(c.Tracked, path) {
		return nil
	}
	c.Tracked, c.First[path] = append(c.Tracked, path), content(path)
	return c.save()
}

// rewind answers a request to restore the files.
func (c *checkpoints) rewind(message string, dry bool) map[string]any {
	at := slices.IndexFunc(c.Snapshots, func(s snapshot) bool { return s.Message == message })
	switch {
	case c.path == "":
		return map[string]any{"canRewind": false, "error": "File rewinding is not enabled."}
	case at < 0:
		return map[string]any{"canRewind": false, "error": "No file checkpoint found for this message."}
	}
	changed, insertions, deletions := []string{}, 0, 0
	for _, path := range c.Tracked {
		before, known := c.Snapshots[at].Files[path]
		if !known {
			before = c.First[path]
		}
		now := content(path)
		if now == nil && before == nil || now != nil && before != nil && *now == *before {
			continue
		}
		changed = append(changed, path)
		for _, line := range patch(text(now), text(before)) {
			insertions += strings.Count(line[:1], "+")
			deletions += strings.Count(line[:1], "-")
		}
		switch {
		case dry:
		case before == nil:
			_ = os.Remove(path) // as the CLI, which goes on
		default:
			_ = os.WriteFile(path, []byte(*before), 0o600)
		}
	}
	if !dry {
		return map[string]any{"canRewind": true, "skippedLinks": 0}
	}
	return map[string]any{"canRewind": true, "filesChanged": changed, "insertions": insertions, "deletions": deletions}
}

func text(content *string) string {
	if content == nil {
		return ""
	}
	return *content
}

// patch is the changed lines of a text, without those around them.
func patch(before, after string) (lines []string) {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for _, line := range a {
		lines = append(lines, "-"+strings.TrimSuffix(line, "\n"))
	}
	for _, line := range b {
		lines = append(lines, "+"+strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// change changes a file, as the CLI's tools do.
func (s *session) change(f File, script Script) use {
	path := f.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.log.workDir, path)
	}
	name, input := "Write", map[string]any{"file_path": path, "content": f.Content}
	if f.Old != "" {
		name, input = "Edit", map[string]any{"file_path": path, "old_string": f.Old, "new_string": f.New}
	}
	return use{
		name: name, input: input, ask: script.Ask,
		run: func(json.RawMessage, string) (string, bool) {
			before := content(path)
			after := f.Content
			if f.Old != "" {
				if !strings.Contains(text(before), f.Old) {
					return "String to replace not found in file.", true
				}
				after = strings.Replace(text(before), f.Old, f.New, 1)
			}
			if err := s.files.track(path); err != nil {
				return err.Error(), true
			}
			if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
				return err.Error(), true
			}
			s.reported = map[string]any{"filePath": path, "originalFile": before, "structuredPatch": []any{}}
			switch {
			case before == nil:
				s.reported["type"], s.reported["content"] = "create", after
			default:
				lines := patch(text(before), after)
				s.reported["structuredPatch"] = []any{map[string]any{"oldStart": 1, "oldLines": len(lines), "newStart": 1, "newLines": len(lines), "lines": lines}}
			}
			return "The file " + path + " has been updated successfully.", false
		},
	}
}
