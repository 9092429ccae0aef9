// Package span is what host and plugin exchange of a message's trace: ids, the W3C trace context, and the spans of a call of a
// plugin. It imports the standard library only.
package span

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Names in the metadata of calls.
const (
	// Header is the W3C trace context: where the call stands in a trace that is recorded.
	Header = "traceparent"
	// Began is when a plugin's submission of an event began, in Unix nanoseconds.
	Began = "clawhost-began"
	// Spans are those of a plugin within a call, in the call's trailer.
	Spans = "clawhost-spans-bin"
	// Share is the share of messages that the host traces, told to a plugin when it is configured.
	Share = "clawhost-trace-share"
)

// Bounds of the spans of one call.
const (
	Most          = 32
	MaxName       = 64  // bytes
	MaxAttributes = 8   // of a span
	MaxValue      = 128 // bytes
	maxEncoded    = 8 << 10
)

// Trace is the id of a trace.
type Trace [16]byte

// ID is the id of a span.
type ID [8]byte

// OfEvent returns the trace of an event of a channel: host and plugin, and each process of theirs, derive the same.
func OfEvent(channel, event string) Trace {
	sum := sha256.Sum256([]byte("clawhost trace\x00" + channel + "\x00" + event))
	return Trace(sum[:16])
}

// String returns the id in hexadecimal.
func (t Trace) String() string { return hex.EncodeToString(t[:]) }

// Root returns the id of the trace's first span.
func (t Trace) Root() ID { return t.Derive("root") }

// Derive returns the id of a span that each process must find again.
func (t Trace) Derive(name string) ID {
	sum := sha256.Sum256(append(t[:], name...))
	return ID(sum[:8])
}

// Recorded reports whether the trace is among the recorded share of all traces, from 0 to 1.
func (t Trace) Recorded(share float64) bool {
	return share >= 1 || share > 0 && float64(binary.BigEndian.Uint64(t[8:])) < share*math.MaxUint64
}

// String returns the id in hexadecimal; empty for none.
func (i ID) String() string {
	if i == (ID{}) {
		return ""
	}
	return hex.EncodeToString(i[:])
}

// Context is a place in a recorded trace.
type Context struct {
	Trace Trace
	Span  ID
}

// String returns the W3C trace context.
func (c Context) String() string {
	return "00-" + c.Trace.String() + "-" + hex.EncodeToString(c.Span[:]) + "-01"
}

// Parse reads a W3C trace context; false: there is none, or its trace is not recorded.
func Parse(header string) (c Context, ok bool) {
	parts := strings.Split(header, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return Context{}, false
	}
	flags := [1]byte{}
	for text, to := range map[string][]byte{parts[1]: c.Trace[:], parts[2]: c.Span[:], parts[3]: flags[:]} {
		if _, err := hex.Decode(to, []byte(text)); err != nil || strings.ToLower(text) != text {
			return Context{}, false
		}
	}
	return c, c.Trace != Trace{} && c.Span != ID{} && flags[0]&1 == 1
}

// Span is a part of a trace.
type Span struct {
	ID, Parent ID
	Name       string
	Start, End time.Time
	Failed     bool
	Attributes []Attribute
}

// Attribute describes a span.
type Attribute struct{ Name, Value string }

// encoded is a span as it is sent.
type encoded struct {
	ID         string   `json:"i"`
	Parent     string   `json:"p"`
	Name       string   `json:"n"`
	Start      int64    `json:"s"` // Unix nanoseconds
	End        int64    `json:"e"`
	Failed     bool     `json:"f,omitempty"`
	Attributes []string `json:"a,omitempty"` // names and values in turns
}

// Encode returns spans for the metadata of a call. The last ones of too many are left out.
func Encode(spans []Span) string {
	list := []encoded{}
	size := 2
	for _, s := range spans[:min(len(spans), Most)] {
		e := encoded{ID: s.ID.String(), Parent: s.Parent.String(), Name: Clean(s.Name, MaxName), Start: s.Start.UnixNano(), End: s.End.UnixNano(), Failed: s.Failed}
		for _, a := range s.Attributes[:min(len(s.Attributes), MaxAttributes)] {
			e.Attributes = append(e.Attributes, Clean(a.Name, MaxName), Clean(a.Value, MaxValue))
		}
		text, _ := json.Marshal(e)
		if size += len(text) + 1; size > maxEncoded {
			break
		}
		list = append(list, e)
	}
	text, _ := json.Marshal(list)
	return string(text)
}

// Decode reads the spans of a plugin, which are not trusted: their texts are cleaned, and all of them are refused if one is
// malformed, or if there are too many.
func Decode(text string) ([]Span, error) {
	if len(text) > maxEncoded {
		return nil, fmt.Errorf("spans: %d bytes, at most %d are allowed", len(text), maxEncoded)
	}
	var list []encoded
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	if len(list) > Most {
		return nil, fmt.Errorf("%d spans, at most %d are allowed", len(list), Most)
	}
	spans := make([]Span, 0, len(list))
	for _, e := range list {
		s := Span{Name: Clean(e.Name, MaxName), Start: time.Unix(0, e.Start), End: time.Unix(0, e.End), Failed: e.Failed}
		if !decodeID(e.ID, &s.ID) || !decodeID(e.Parent, &s.Parent) || s.Name == "" || e.End < e.Start || len(e.Attributes) > 2*MaxAttributes {
			return nil, errors.New("a span is malformed")
		}
		for i := 0; i+1 < len(e.Attributes); i += 2 {
			s.Attributes = append(s.Attributes, Attribute{Clean(e.Attributes[i], MaxName), Clean(e.Attributes[i+1], MaxValue)})
		}
		spans = append(spans, s)
	}
	return spans, nil
}

func decodeID(text string, to *ID) bool {
	n, err := hex.Decode(to[:], []byte(text[:min(len(text), 16)]))
	return err == nil && n == len(to) && len(text) == 16 && *to != ID{}
}

// Clean returns a text of printable characters of at most so many bytes.
func Clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text[:min(len(text), 4*most)])
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
