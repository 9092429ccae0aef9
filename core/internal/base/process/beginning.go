package process

import (
	"bytes"
	"strings"

	"github.com/clawhost/clawhost/sdk/redact"
)

// Beginning keeps the first bytes of what a program prints, and drops the rest. It is the program's stdout or stderr. The zero value keeps
// nothing.
type Beginning struct {
	Most int  // bytes that are kept
	Over bool // something was dropped
	kept bytes.Buffer
}

// Write implements [io.Writer]. It never fails: the program goes on.
func (b *Beginning) Write(p []byte) (int, error) {
	kept := p[:min(len(p), max(b.Most-b.kept.Len(), 0))]
	b.Over = b.Over || len(kept) < len(p)
	b.kept.Write(kept)
	return len(p), nil
}

// String returns what was kept, as valid UTF-8.
func (b *Beginning) String() string { return strings.ToValidUTF8(b.kept.String(), "") }

// Complaint returns what was kept as a part of an error: on one line, and without what looks like a credential.
func (b *Beginning) Complaint() string {
	return redact.Text(strings.Join(strings.Fields(b.String()), " "), "[redacted]")
}
