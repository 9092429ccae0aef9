package admin

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// maxEntry bounds an entry of the log that a client reads, in bytes.
const maxEntry = 1 << 20

// logs responds with the newest entries of the log, at most as many as the request says, and then with each further one if
// it follows.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	entries, last, more := s.options.Log.After(0)
	if most, err := strconv.Atoi(r.FormValue("lines")); err == nil {
		entries = entries[max(0, len(entries)-max(most, 0)):]
	}
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for {
		for _, entry := range entries {
			fmt.Fprintln(w, entry)
		}
		if r.FormValue("follow") == "" || flush() != nil {
			return
		}
		select {
		case <-more:
			entries, last, more = s.options.Log.After(last)
		case <-r.Context().Done(): // of the client, or of the server: the end of the log is worth most
			entries, _, _ = s.options.Log.After(last)
			for _, entry := range entries {
				fmt.Fprintln(w, entry)
			}
			return
		}
	}
}

// Logs shows the newest lines of the host's log, and with follow those that come until ctx or the host ends.
func (c *Client) Logs(ctx context.Context, lines int, follow bool, show func(line string)) error {
	query := url.Values{"lines": {strconv.Itoa(lines)}}
	if follow {
		query.Set("follow", "true")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://clawhost/v1/logs?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("ask the host: %w", err)
	}
	response, err := (&http.Client{Transport: c.http.Transport}).Do(request) // without the client's timeout
	if err != nil {
		return c.unanswered(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return refusal(response)
	}
	read := bufio.NewScanner(response.Body)
	read.Buffer(nil, maxEntry)
	for read.Scan() {
		show(read.Text())
	}
	if err := read.Err(); err != nil && ctx.Err() == nil && !follow {
		return fmt.Errorf("read the host's answer: %w", err)
	}
	return nil
}
