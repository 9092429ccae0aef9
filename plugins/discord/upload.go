package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
	"sync/atomic"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What Discord takes of a bot's files where nobody has paid for more.
const (
	maxUpload  = 10 << 20 // bytes of a file
	maxRequest = 25 << 20 // bytes of a message's files together
	maxFiles   = 10       // of a message
)

// bundles divides files into those that go with one message, in order.
func bundles(files []chat.Media) ([][]chat.Media, error) {
	var list [][]chat.Media
	size := int64(0)
	for _, m := range files {
		switch {
		case m.Ref == "":
			return nil, refuse(chat.MediaRejected, "a file has no bytes")
		case m.Size > maxUpload:
			return nil, refuse(chat.MediaRejected, fmt.Sprintf("a file has %d bytes; Discord takes %d from a bot", m.Size, maxUpload))
		}
		if n := len(list); n == 0 || len(list[n-1]) == maxFiles || size+m.Size > maxRequest {
			list, size = append(list, nil), 0
		}
		list[len(list)-1] = append(list[len(list)-1], m)
		size += m.Size
	}
	return list, nil
}

// form is a message with files as it is sent. Its JSON and the heads of the files are at hand, the files come when they
// are read: none is in memory as a whole.
type form struct {
	io.Reader

	contentType string
	length      int64
	files       []io.Closer
	failed      atomic.Pointer[error] // why a file could not be read to its end
}

// newForm opens the files. The form is to be closed.
func newForm(ctx context.Context, store sdk.Media, message any, files []chat.Media) (*form, error) {
	f := &form{}
	var head bytes.Buffer
	writer := multipart.NewWriter(&head)
	var parts []io.Reader
	cut := func() { // ends what is at hand, for a file to follow
		f.length += int64(head.Len())
		parts = append(parts, bytes.NewReader(bytes.Clone(head.Bytes())))
		head.Reset()
	}
	failed := func(err error) (*form, error) {
		f.Close()
		return nil, err
	}
	raw, err := json.Marshal(message)
	if err != nil {
		return failed(err)
	}
	part, err := writer.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"}})
	if err == nil {
		_, err = part.Write(raw)
	}
	if err != nil {
		return failed(err)
	}
	for i, file := range files {
		media, content, err := store.Download(ctx, file.Ref)
		if err != nil {
			return failed(err)
		}
		f.files = append(f.files, content)
		if _, err := writer.CreatePart(headOf(i, media)); err != nil {
			return failed(err)
		}
		cut()
		f.length += media.Size
		parts = append(parts, &whole{form: f, content: content, left: media.Size})
	}
	if err := writer.Close(); err != nil {
		return failed(err)
	}
	cut()
	f.Reader, f.contentType = io.MultiReader(parts...), writer.FormDataContentType()
	return f, nil
}

// headOf describes the nth file of a form.
func headOf(nth int, m chat.Media) textproto.MIMEHeader {
	kind := m.MIMEType
	if kind == "" || strings.ContainsAny(kind, "\r\n") {
		kind = "application/octet-stream"
	}
	return textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="files[%d]"; filename="%s"`, nth, fileName(m))},
		"Content-Type":        {kind},
	}
}

// endings are those of files that come without a name, by type.
var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf", "text/plain": ".txt",
	"audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/wav": ".wav", "audio/mp4": ".m4a", "video/mp4": ".mp4", "video/webm": ".webm",
}

// fileName is a file's name without what could end it early. Discord shows a file by what its name ends with.
func fileName(m chat.Media) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, m.FileName)
	if name != "" {
		return name
	}
	name = "file"
	if m.Kind > chat.File {
		name = m.Kind.String()
	}
	return name + endings[m.MIMEType]
}

// Close implements io.Closer.
func (f *form) Close() error {
	for _, file := range f.files {
		_ = file.Close() // It was only read.
	}
	return nil
}

// whole is a file that must have the bytes that were announced.
type whole struct {
	form    *form
	content io.Reader
	left    int64
}

// Read implements io.Reader.
func (w *whole) Read(p []byte) (int, error) {
	n, err := w.content.Read(p)
	w.left -= int64(n)
	switch {
	case w.left < 0, errors.Is(err, io.EOF) && w.left > 0:
		err = errors.New("it has another size than the host said")
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	}
	w.form.failed.Store(&err)
	return n, err
}

// unread is the error of a request whose files the host did not give.
func (r *rest) unread(what string, err error) *callError {
	failure := &callError{what: what, files: true, message: r.clean("the host's file cannot be read: " + err.Error())}
	if errors.Is(err, sdk.ErrNotFound) {
		failure.missing, failure.message = true, "the host has no such file"
	}
	return failure
}
