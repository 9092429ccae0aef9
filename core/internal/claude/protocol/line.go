package protocol

import (
	"bufio"
	"bytes"
	"errors"
)

// bounds bound a line of JSON, in bytes. Lines of several megabytes are rare but possible: one may contain a file that
// a tool has read, as base64, and more than once. Important fields are short, or at the beginning.
type bounds struct {
	line  int // maximum length; the rest of a longer one is not read
	whole int // the part of a line up to here is kept unchanged
	text  int // after that this much of each string is kept
	kept  int // maximum of the result
}

// ofTheCLI are the bounds for the CLI's output and its transcripts.
var ofTheCLI = bounds{line: 64 << 20, whole: 8 << 20, text: 1 << 10, kept: 16 << 20}

// ErrLineTooLong is returned as soon as a line exceeds its bounds. The rest of it is still unread.
var ErrLineTooLong = errors.New("a line is too long")

// ReadLine reads a line of the CLI's output or of a transcript, without its line break. It is valid until the next
// call. Long lines are shortened. It returns io.EOF with the last one.
func ReadLine(r *bufio.Reader) ([]byte, error) { return readLine(r, ofTheCLI) }

func readLine(r *bufio.Reader, b bounds) ([]byte, error) {
	var line []byte
	var short shortener
	for size := 0; ; {
		part, err := r.ReadSlice('\n')
		size += len(part)
		if err == nil {
			part = part[:len(part)-1]
		}
		switch {
		case size > b.line:
		case line == nil && err == nil:
			return part, nil
		case size <= b.whole:
			line = append(line, part...)
		default:
			short.begin(line)
			line = short.add(line, part, b.text)
		}
		if size > b.line || len(line) > b.kept {
			if err == nil {
				_ = r.UnreadByte() // SkipLine reads the line break
			}
			return nil, ErrLineTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// SkipLine reads to the end of a line.
func SkipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// shortener shortens the strings of a JSON text that is read in parts, so that it stays valid.
type shortener struct {
	begun  bool
	inside bool // within a string
	kept   int  // bytes of it that were kept
	escape int  // remaining bytes of an escape sequence
	letter bool // its next byte is the kind of the sequence
	drop   bool // the sequence is dropped
}

// begin scans the part before the first shortened one.
func (s *shortener) begin(before []byte) {
	if s.begun {
		return
	}
	s.begun = true
	for _, c := range before {
		s.next(c, len(before))
	}
	s.kept = 0
}

// add appends a part to a line, shortening strings to the limit.
func (s *shortener) add(line, part []byte, limit int) []byte {
	for i := 0; i < len(part); i++ {
		if s.inside && s.escape == 0 && s.kept >= limit {
			next := bytes.IndexAny(part[i:], `"\`)
			if next < 0 {
				break
			}
			i += next
		}
		if s.next(part[i], limit) {
			line = append(line, part[i])
		}
	}
	return line
}

// next scans a byte, and reports whether it is kept.
func (s *shortener) next(c byte, limit int) bool {
	switch {
	case !s.inside:
		s.inside, s.kept, s.drop = c == '"', 0, false
		return true
	case s.escape > 0:
		s.escape--
		if s.letter && c == 'u' {
			const digits = 4
			s.escape = digits
		}
		s.letter = false
	case c == '"':
		s.inside = false
		return true
	default:
		s.drop = s.kept >= limit
		if c == '\\' {
			s.escape, s.letter = 1, true
		}
	}
	if s.drop {
		return false
	}
	s.kept++
	return true
}
