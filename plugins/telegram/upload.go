package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// enclosed is a file that goes with a request, in the form's field of that name.
type enclosed struct {
	field string
	media chat.Media
	open  func(context.Context, chat.MediaRef) (chat.Media, io.ReadCloser, error)
}

// upload is call with files. They are streamed: none is in memory as a whole. The library's own uploads start goroutines
// that nobody waits for and lose the code of a refusal, so this is not one.
func (a *api) upload(ctx context.Context, method string, params tgbotapi.Params, files []enclosed) (json.RawMessage, error) {
	form, err := newForm(ctx, params, files)
	if err != nil {
		return nil, a.unread(method, err)
	}
	defer form.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf(a.endpoint, a.token, method), form)
	if err != nil {
		return nil, a.failed(method, &exchange{}, err)
	}
	request.ContentLength = form.length
	request.Header.Set("Content-Type", form.contentType)
	e := &exchange{ctx: ctx, client: a.client}
	response, err := e.Do(request)
	if err != nil {
		if cause := form.failed.Load(); cause != nil && ctx.Err() == nil {
			return nil, a.unread(method, *cause) // What Telegram got was no whole request.
		}
		return nil, a.failed(method, e, err)
	}
	var answer tgbotapi.APIResponse
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, a.failed(method, e, err)
	}
	if answer.Ok {
		return answer.Result, nil
	}
	refused := &tgbotapi.Error{Code: answer.ErrorCode, Message: answer.Description}
	if answer.Parameters != nil {
		refused.ResponseParameters = *answer.Parameters
	}
	return nil, a.failed(method, e, refused)
}

// errSize is the error of a file that is not as long as the host said.
var errSize = errors.New("it has another size than the host said")

// unread is the error of a request whose files the host did not give. It was not delivered.
func (a *api) unread(method string, err error) error {
	failure := &callError{method: method, cause: chat.Temporary, description: a.redactor.clean("the host's file cannot be read: " + err.Error())}
	if errors.Is(err, sdk.ErrNotFound) || errors.Is(err, errSize) {
		failure.cause = chat.MediaRejected
	}
	return failure
}

// form is a multipart form as it is sent: the fields and the heads of files are at hand, the files come when they are read.
type form struct {
	io.Reader

	contentType string
	length      int64
	files       []io.Closer
	failed      atomic.Pointer[error] // why a file could not be read to its end
}

func newForm(ctx context.Context, params tgbotapi.Params, files []enclosed) (*form, error) {
	f := &form{}
	var head bytes.Buffer
	writer := multipart.NewWriter(&head)
	var segments []io.Reader
	cut := func() { // ends what is at hand, for a file to follow
		f.length += int64(head.Len())
		segments = append(segments, bytes.NewReader(bytes.Clone(head.Bytes())))
		head.Reset()
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := writer.WriteField(name, params[name]); err != nil {
			return nil, err
		}
	}
	for _, file := range files {
		media, content, err := file.open(ctx, file.media.Ref)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.files = append(f.files, content)
		if _, err := writer.CreatePart(headOf(file.field, media)); err != nil {
			f.Close()
			return nil, err
		}
		cut()
		f.length += media.Size
		segments = append(segments, &whole{form: f, content: content, left: media.Size})
	}
	if err := writer.Close(); err != nil {
		f.Close()
		return nil, err
	}
	cut()
	f.Reader, f.contentType = io.MultiReader(segments...), writer.FormDataContentType()
	return f, nil
}

// headOf describes a file of a form.
func headOf(field string, m chat.Media) textproto.MIMEHeader {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, m.FileName)
	if name == "" {
		name = field // Without a name it would be no file.
	}
	mimeType := m.MIMEType
	if mimeType == "" || strings.ContainsAny(mimeType, "\r\n") {
		mimeType = "application/octet-stream"
	}
	return textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="%s"; filename="%s"`, field, name)},
		"Content-Type":        {mimeType},
	}
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
		err = errSize
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	}
	w.form.failed.Store(&err)
	return n, err
}
