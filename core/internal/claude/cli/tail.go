package cli

import (
	"io"
	"strings"
	"sync"
)

// tail keeps the end of a stream.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// read fills the tail until r ends.
func (t *tail) read(r io.Reader) {
	const limit = 8 << 10
	chunk := make([]byte, 4<<10)
	for {
		n, err := r.Read(chunk)
		t.mu.Lock()
		t.data = append(t.data, chunk[:n]...)
		if over := len(t.data) - limit; over > 0 {
			t.data = append(t.data[:0], t.data[over:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.data), ""))
}
