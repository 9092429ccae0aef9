package proof

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// ErrStranger is returned where whoever answers does not know the token.
var ErrStranger = errors.New("the server that answers is not the web chat")

// An answer's body is a sequence of parts, the last of which is empty. A line with its MAC and its size precedes each of them.
const (
	headFormat = "%s %06x\n"
	headSize   = 43 + 1 + 6 + 1
	maxPart    = 64 << 10 // what a reader keeps before it knows whose it is
)

var headPattern = regexp.MustCompile(`^([A-Za-z0-9_-]{43}) ([0-9a-f]{6})\n$`)

// Answer identifies an answer.
type Answer struct {
	Session string // with Number, of the request
	Number  uint64
	Status  int
	Type    string // the Content-Type
}

// part returns the server's proof of one part of an answer.
func (k *Key) part(authority string, a Answer, place uint64, content []byte) string {
	return k.mac("answer", authority, a.Session, strconv.FormatUint(a.Number, 10), strconv.Itoa(a.Status), a.Type,
		strconv.FormatUint(place, 10), Sum(content))
}

// Writer is an [http.ResponseWriter] that proves each part of an answer. An answer without Close is cut short.
type Writer struct {
	http.ResponseWriter
	key       *Key
	authority string
	answer    Answer
	place     uint64 // of the next part
}

// Writer returns a writer of the answer to a request.
func (k *Key) Writer(w http.ResponseWriter, authority string, r Request) *Writer {
	return &Writer{ResponseWriter: w, key: k, authority: authority, answer: Answer{Session: r.Session, Number: r.Number}}
}

// WriteHeader implements [http.ResponseWriter].
func (w *Writer) WriteHeader(status int) {
	w.answer.Status, w.answer.Type = status, w.Header().Get("Content-Type")
	w.Header().Del("Content-Length") // it does not count what precedes the parts
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *Writer) Write(content []byte) (written int, err error) {
	for part := range slices.Chunk(content, maxPart) {
		if err := w.writePart(part); err != nil {
			return written, err
		}
		written += len(part)
	}
	return written, nil
}

// Close ends the answer.
func (w *Writer) Close() error { return w.writePart(nil) }

// Unwrap returns the writer below, for [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *Writer) writePart(part []byte) error {
	if w.answer.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	mac := w.key.part(w.authority, w.answer, w.place, part)
	w.place++
	if _, err := fmt.Fprintf(w.ResponseWriter, headFormat, mac, len(part)); err != nil {
		return err
	}
	_, err := w.ResponseWriter.Write(part)
	return err
}

// Reader reads what a [Writer] wrote, and returns nothing that is not proven.
type Reader struct {
	from      io.Reader
	key       *Key
	authority string
	answer    Answer
	place     uint64 // of the next part
	rest      []byte // of the current part
	err       error
}

// Reader returns a reader of an answer's body.
func (k *Key) Reader(body io.Reader, authority string, a Answer) *Reader {
	return &Reader{from: body, key: k, authority: authority, answer: a}
}

// Read implements [io.Reader].
func (r *Reader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		r.rest, r.err = r.readPart()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// readPart returns the next part, and io.EOF in place of the last one.
func (r *Reader) readPart() ([]byte, error) {
	line, err := r.take(headSize)
	if err != nil {
		return nil, err
	}
	fields := headPattern.FindSubmatch(line)
	if fields == nil {
		return nil, ErrStranger
	}
	size, err := strconv.ParseUint(string(fields[2]), 16, 32)
	if err != nil || size > maxPart {
		return nil, ErrStranger
	}
	part, err := r.take(size)
	if err != nil {
		return nil, err
	}
	if !Equal(string(fields[1]), r.key.part(r.authority, r.answer, r.place, part)) {
		return nil, ErrStranger
	}
	r.place++
	if size == 0 {
		return nil, io.EOF
	}
	return part, nil
}

func (r *Reader) take(size uint64) ([]byte, error) {
	taken := make([]byte, size)
	_, err := io.ReadFull(r.from, taken)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // only the last part ends an answer
	}
	return taken, err
}
