package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// logs responds with the newest entries of the log, at most as many as the request says, and then with each further one if
// it follows.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	most, err := strconv.ParseUint(r.FormValue("lines"), 10, 31)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(problem{fmt.Sprintf("lines: %v", err)})
		return
	}
	follow := r.FormValue("follow") != ""
	entries, last, more := s.options.Log.After(0)
	entries = entries[max(0, len(entries)-int(most)):]
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for {
		for _, entry := range entries {
			fmt.Fprintln(w, entry)
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

// Logs shows the newest lines of the host's log, and with follow those that come until ctx or the host ends.
func (c *Client) Logs(ctx context.Context, lines int, follow bool, show func(line string)) error {
	query := url.Values{"lines": {strconv.Itoa(lines)}}
	if follow {
		query.Set("follow", "true")
	}
	body, err := c.stream(ctx, http.MethodGet, "/v1/logs?"+query.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	read := bufio.NewScanner(body)
	for read.Scan() {
		show(read.Text())
	}
	if err := read.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the host's answer: %w", err)
	}
	return nil
}
