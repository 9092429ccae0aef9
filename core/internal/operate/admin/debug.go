package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
)

const (
	// maxProfile bounds what is read of a profile, in bytes, and maxProfiled the time that one of the processor takes.
	maxProfile  = 16 << 20
	maxProfiled = time.Minute
)

// Tables are the database without its content.
type Tables struct {
	Version int           `json:"version"` // of the schema
	Tables  []store.Table `json:"tables"`
}

// debug serves what shows how the host works, to whom only the control socket is open: the names of functions, and numbers.
func (s *Server) debug(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/debug/goroutines", profile("goroutine", 2))
	mux.HandleFunc("GET /v1/debug/heap", profile("heap", 0))
	mux.HandleFunc("GET /v1/debug/cpu", answerCPU)
	mux.HandleFunc("GET /v1/debug/tables", answer(func(r *http.Request) (any, error) {
		tables, version, err := s.options.Store.Tables(r.Context())
		return Tables{version, tables}, err
	}))
}

// profile responds with a profile as it is now.
func profile(name string, debug int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var content bytes.Buffer
		if err := pprof.Lookup(name).WriteTo(&content, debug); err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		_, _ = w.Write(content.Bytes()) // the client is gone or has it
	}
}

// answerCPU responds with a profile of the processor for the seconds of the request, at most a minute.
func answerCPU(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.ParseUint(r.FormValue("seconds"), 10, 16)
	if err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("seconds: %v", err))
		return
	}
	var content bytes.Buffer
	if err := pprof.StartCPUProfile(&content); err != nil {
		refuse(w, http.StatusServiceUnavailable, "another profile is being made")
		return
	}
	timer := time.NewTimer(min(time.Duration(seconds)*time.Second, maxProfiled))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	pprof.StopCPUProfile()
	_, _ = w.Write(content.Bytes())
}

// Goroutines returns the stacks of all goroutines.
func (c *Client) Goroutines(ctx context.Context) ([]byte, error) { return c.read(ctx, "goroutines") }

// Heap returns a profile of the memory.
func (c *Client) Heap(ctx context.Context) ([]byte, error) { return c.read(ctx, "heap") }

// CPU returns a profile of the processor, which takes this long, in seconds.
func (c *Client) CPU(ctx context.Context, seconds int) ([]byte, error) {
	return c.read(ctx, fmt.Sprintf("cpu?seconds=%d", seconds))
}

// Tables returns the database without its content.
func (c *Client) Tables(ctx context.Context) (Tables, error) {
	return call[Tables](ctx, c, http.MethodGet, "/v1/debug/tables", nil)
}

func (c *Client) read(ctx context.Context, what string) ([]byte, error) {
	body, err := c.stream(ctx, http.MethodGet, "/v1/debug/"+what, nil, nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, maxProfile))
	if err != nil {
		return nil, fmt.Errorf("read the host's answer: %w", err)
	}
	return content, nil
}
