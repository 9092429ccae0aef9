// Package upload sends files of the host to a network that takes them over HTTP as multipart/form-data. The files are
// streamed: none of them is in memory as a whole, and the request has a Content-Length all the same, which many networks
// ask for. It is shared by channel plugins.
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

// ErrSize is the error of a file that is not as long as the host said.
var ErrSize = errors.New("the file has another size than the host said")

// slowest is how fast files must go at least, in bytes a second.
const slowest = 256 << 10

// Time returns how long the sending of so many bytes may take: beside the time that the network has for its answer, no channel
// need wait longer, and the host does not.
func Time(bytes int64) time.Duration {
	return time.Duration(max(bytes, 0)/slowest+1) * time.Second
}

// Open opens a file of the host; see Download of sdk.Media.
type Open func(ctx context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error)

// Part is a part of a form: a value, or a file.
type Part struct {
	Name  string        // the field's
	Value []byte        // where it is no file
	Type  string        // the value's MIME type; empty: it is plain text
	File  chat.MediaRef // empty: it is a value
}

// Form is a multipart form as it is sent, once. It is read by one goroutine and may be closed by another.
type Form struct {
	ContentType string
	Length      int64 // bytes

	io.Reader
	files  []io.Closer
	closed sync.Once
	failed atomic.Pointer[error]
}

// New opens the files of a form, whose parts keep their order. An error is one of open's, such as sdk.ErrNotFound, and leaves no
// file open.
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
	cut := func() { // ends what is at hand, for a file to follow
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

// Request returns the POST of the form. Its client closes the form, which may be closed again.
func (f *Form) Request(ctx context.Context, address string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, f)
	if err != nil {
		return nil, err
	}
	request.ContentLength = f.Length
	request.Header.Set("Content-Type", f.ContentType)
	return request, nil
}

// Err returns why a file could not be read to its end, or nil. Where there is such an error the network got no whole request: the
// message is not delivered. With [ErrSize] it never will be; any other may pass.
func (f *Form) Err() error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Close closes the files. Its error is nil.
func (f *Form) Close() error {
	f.closed.Do(func() {
		for _, file := range f.files {
			_ = file.Close() // It was only read.
		}
	})
	return nil
}

// header describes a part of a form.
func header(name, fileName, mimeType string) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	disposition := fmt.Sprintf(`form-data; name="%s"`, harmless(name))
	if fileName != "" {
		disposition += fmt.Sprintf(`; filename="%s"`, fileName)
	}
	h.Set("Content-Disposition", disposition)
	if mimeType != "" {
		h.Set("Content-Type", mimeType)
	}
	return h
}

// harmless is a name without what could end it early.
func harmless(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, name)
}

// endings are those of files that come without a name, by type.
var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf", "text/plain": ".txt",
	"audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/wav": ".wav", "audio/mp4": ".m4a", "video/mp4": ".mp4", "video/webm": ".webm",
}

// fileName is a file's name. One that has none gets one that says what it is: some networks show a file by what its name ends
// with, and without a name it would be no file.
func fileName(m chat.Media) string {
	if name := harmless(m.FileName); name != "" {
		return name
	}
	name := "file"
	if m.Kind > chat.File {
		name = m.Kind.String()
	}
	base, _, _ := strings.Cut(m.MIMEType, ";")
	return name + endings[base]
}

// whole is a file that must have the bytes that were announced.
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
