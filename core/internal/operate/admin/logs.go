package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// maxLogLine bounds a line, in bytes: a kept entry with each byte escaped in JSON.
const maxLogLine = 256 << 10

// logs responds with the newest entries of the log, at most as many as the request says, and then with each further one if
// it follows.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	most, err := strconv.ParseUint(r.FormValue("lines"), 10, 31)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(problem{fmt.Sprintf("lines: %v", err)})
		return
	}
	follow, show := r.FormValue("follow") != "", func(entry string) string { return entry }
	if r.FormValue("json") != "" {
		show = logLine
	}
	entries, last, more := s.options.Log.After(0)
	entries = entries[max(0, len(entries)-int(most)):]
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for {
		for _, entry := range entries {
			fmt.Fprintln(w, show(entry))
		}
		if flush() != nil || !follow {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done(): // the client is gone, or the server ends: then the last lines matter most
			follow = false
		}
		entries, last, more = s.options.Log.After(last)
	}
}

// entryOf matches an entry of a log in the format text.
var entryOf = lazyregexp.New(`(?s)^(\S+) \[([A-Z]+)\] +(?:([\w.-]+): )?(.*)$`)

// ofJSON are the keys of an entry of a log in the format json, by what they are called here.
var ofJSON = map[string]string{"time": "@timestamp", "level": "@level", "module": "@module", "message": "@message"}

// logLine returns an entry of the log as a JSON value: its time, level, module and message, and, of a log in the format json, what else
// it has.
func logLine(entry string) string {
	line := map[string]any{}
	if json.Unmarshal([]byte(entry), &line) == nil {
		for name, theirs := range ofJSON {
			if value, ok := line[theirs]; ok {
				delete(line, theirs)
				line[name] = value
			}
		}
	} else if parts := entryOf().FindStringSubmatch(entry); parts != nil {
		line = map[string]any{"time": parts[1], "level": strings.ToLower(parts[2]), "message": parts[4]}
		if parts[3] != "" {
			line["module"] = parts[3]
		}
	} else {
		line = map[string]any{"message": entry}
	}
	text, _ := json.Marshal(line) // it was JSON, or is text
	return string(text)
}

// LogRequest asks for lines of the log.
type LogRequest struct {
	Lines  int  // the newest, at most so many
	Follow bool // and those that come until the host ends
	JSON   bool // each line is a JSON value, whatever the format of the log
}

// Logs shows lines of the host's log, until ctx or the host ends if they are followed.
func (c *Client) Logs(ctx context.Context, wanted LogRequest, show func(line string)) error {
	query := url.Values{"lines": {strconv.Itoa(wanted.Lines)}}
	if wanted.Follow {
		query.Set("follow", "true")
	}
	if wanted.JSON {
		query.Set("json", "true")
	}
	body, err := c.stream(ctx, http.MethodGet, "/v1/logs?"+query.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	read := bufio.NewScanner(body)
	read.Buffer(nil, maxLogLine)
	for read.Scan() {
		show(read.Text())
	}
	if err := read.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the host's answer: %w", err)
	}
	return nil
}
