// Package upload sends the host's files to a network over HTTP as multipart/form-data. Files are streamed, never held in
// memory as a whole, and the request still has the Content-Length that many networks require. It is shared by channel
// plugins.
package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// ErrSize is the error of a file whose size differs from what the host announced.
var ErrSize = errors.New("the file's size differs from what the host announced")

// slowest is the minimum upload rate, in bytes per second.
const slowest = 256 << 10

// Time returns how long an upload of this size may take, without the time for the network's response. The host waits no
// longer than this, so a channel need not either.
func Time(bytes int64) time.Duration {
	return time.Duration(max(bytes, 0)/slowest+1) * time.Second
}

// Open opens a file of the host; see Download of sdk.Media.
type Open func(ctx context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error)

// Part is one part of a form: a value or a file.
type Part struct {
	Name  string        // the field's
	Value []byte        // if it is not a file
	Type  string        // the value's MIME type; empty: plain text
	File  chat.MediaRef // empty for a value
}

// Form is a multipart form that can be sent once. It is read by one goroutine and may be closed by another.
type Form struct {
	ContentType string
	Length      int64 // bytes

	io.Reader
	files  []io.Closer
	closed sync.Once
	failed atomic.Pointer[error]
}

// New opens the files of a form and keeps the order of its parts. An error is one of open's, such as sdk.ErrNotFound; then
// all files are closed.
func New(ctx context.Context, open Open, parts ...Part) (_ *Form, err error) {
	f := &Form{}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	var head bytes.Buffer
	writer := multipart.NewWriter(&head)
	var segments []io.Reader
	cut := func() { // ends the current section before a file
		f.Length += int64(head.Len())
		segments = append(segments, bytes.NewReader(bytes.Clone(head.Bytes())))
		head.Reset()
	}
	for _, part := range parts {
		if part.File == "" {
			into, err := writer.CreatePart(header(part.Name, "", part.Type))
			if err == nil {
				_, err = into.Write(part.Value)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		media, content, err := open(ctx, part.File)
		if err != nil {
			return nil, err
		}
		f.files = append(f.files, content)
		if media.MIMEType == "" || strings.ContainsAny(media.MIMEType, "\r\n") {
			media.MIMEType = "application/octet-stream"
		}
		if _, err := writer.CreatePart(header(part.Name, fileName(media), media.MIMEType)); err != nil {
			return nil, err
		}
		cut()
		f.Length += media.Size
		segments = append(segments, &whole{form: f, content: content, left: media.Size})
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	cut()
	f.Reader, f.ContentType = io.MultiReader(segments...), writer.FormDataContentType()
	return f, nil
}

// Request returns a POST request with the form. The HTTP client closes the form, which may be closed again.
func (f *Form) Request(ctx context.Context, address string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, f)
	if err != nil {
		return nil, err
	}
	request.ContentLength = f.Length
	request.Header.Set("Content-Type", f.ContentType)
	return request, nil
}

// Err returns the error of reading a file, or nil. After such an error the network has received an incomplete request: the
// message is not delivered. [ErrSize] is permanent; other errors may be temporary.
func (f *Form) Err() error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Close closes the files. It always returns nil.
func (f *Form) Close() error {
	f.closed.Do(func() {
		for _, file := range f.files {
			_ = file.Close() // only read
		}
	})
	return nil
}

// header returns the header of a form's part.
func header(name, fileName, mimeType string) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	disposition := fmt.Sprintf(`form-data; name="%s"`, quoted(name))
	if fileName != "" {
		disposition += fmt.Sprintf(`; filename="%s"`, fileName)
	}
	h.Set("Content-Disposition", disposition)
	if mimeType != "" {
		h.Set("Content-Type", mimeType)
	}
	return h
}

// quoted returns a name without characters that could end the quotation.
func quoted(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, name)
}

// extensions maps types to file name extensions, for files without a name.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf", "text/plain": ".txt",
	"audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/wav": ".wav", "audio/mp4": ".m4a", "video/mp4": ".mp4", "video/webm": ".webm",
}

// fileName returns a file's name, or one derived from its type: some networks choose how to show a file by its extension,
// and treat a part without a name as a value.
func fileName(m chat.Media) string {
	if name := quoted(m.FileName); name != "" {
		return name
	}
	name := "file"
	if m.Kind > chat.File {
		name = m.Kind.String()
	}
	base, _, _ := strings.Cut(m.MIMEType, ";")
	return name + extensions[base]
}

// whole is a file that must have the announced size.
type whole struct {
	form    *Form
	content io.Reader
	left    int64
}

// Read implements io.Reader.
func (w *whole) Read(p []byte) (int, error) {
	n, err := w.content.Read(p)
	w.left -= int64(n)
	switch {
	case w.left < 0, errors.Is(err, io.EOF) && w.left > 0:
		err = ErrSize
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	}
	w.form.failed.Store(&err)
	return n, err
}
