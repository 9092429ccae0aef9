package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxFile is the largest file that the Bot API gives to a bot, in bytes.
const maxFile = 20 << 20

// attachment describes a message's file; false: it has none. Its token is Telegram's id of the file, which stays good for this bot.
// A sticker has none.
func attachment(m *tgbotapi.Message) (chat.Media, bool) {
	file := func(media chat.Media, size int, id string) (chat.Media, bool) {
		media.Size, media.Token = int64(size), chat.FileToken(id)
		if media.Size > maxFile {
			media.Token, media.Problem = "", tooLarge
		}
		return media, true
	}
	switch {
	case len(m.Photo) > 0:
		largest := m.Photo[len(m.Photo)-1]
		return file(chat.Media{Kind: chat.Image, MIMEType: "image/jpeg"}, largest.FileSize, largest.FileID)
	case m.Voice != nil:
		return file(chat.Media{Kind: chat.Voice, MIMEType: m.Voice.MimeType}, m.Voice.FileSize, m.Voice.FileID)
	case m.Audio != nil:
		return file(chat.Media{Kind: chat.Audio, MIMEType: m.Audio.MimeType, FileName: m.Audio.FileName}, m.Audio.FileSize, m.Audio.FileID)
	case m.Video != nil:
		return file(chat.Media{Kind: chat.Video, MIMEType: m.Video.MimeType, FileName: m.Video.FileName}, m.Video.FileSize, m.Video.FileID)
	case m.VideoNote != nil:
		return file(chat.Media{Kind: chat.Video, MIMEType: "video/mp4"}, m.VideoNote.FileSize, m.VideoNote.FileID)
	case m.Animation != nil: // It comes with a document that is the same file.
		f := m.Animation
		return file(chat.Media{Kind: chat.Video, MIMEType: f.MimeType, FileName: f.FileName}, f.FileSize, f.FileID)
	case m.Sticker != nil:
		return chat.Media{Kind: chat.Sticker}, true
	case m.Document != nil:
		f := m.Document
		return file(chat.Media{Kind: chat.File, MIMEType: f.MimeType, FileName: f.FileName}, f.FileSize, f.FileID)
	default:
		return chat.Media{}, false
	}
}

// tooLarge is the problem of a file that has more than maxFile bytes.
const tooLarge = "is larger than the 20 MB that Telegram gives a bot"

// FetchFile implements sdk.FileFetcher.
func (c *channel) FetchFile(ctx context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	file, err := c.api.file(ctx, string(token))
	if err != nil {
		return nil, fileError(err)
	}
	return file, nil
}

// file opens a file by its id.
func (a *api) file(ctx context.Context, id string) (io.ReadCloser, error) {
	raw, err := a.call(ctx, "getFile", tgbotapi.Params{"file_id": id})
	if err != nil {
		return nil, err
	}
	var found tgbotapi.File
	if err := a.read("getFile", raw, &found); err != nil {
		return nil, err
	}
	return a.download(ctx, found.FilePath)
}

// fileError is an error of the Bot API's as the host understands it.
func fileError(err error) error {
	failed, ok := errors.AsType[*callError](err)
	switch {
	case !ok:
		return err
	case failed.mayPass():
		return &chat.FileError{RetryAfter: failed.retryAfter, Err: err}
	case failed.says("too big"):
		return &chat.FileError{Problem: tooLarge, Err: err}
	}
	return &chat.FileError{Problem: "could not be fetched", Err: err}
}

// mayPass tells whether the same call may succeed soon.
func (e *callError) mayPass() bool {
	return e.ended != nil || (e.code == 0 || e.code == http.StatusTooManyRequests || e.code >= http.StatusInternalServerError)
}

// download opens a file by the path that getFile tells. Its errors, and those of reading, are of type [*callError]; a file
// of more than maxFile bytes ends with one.
func (a *api) download(ctx context.Context, file string) (io.ReadCloser, error) {
	address, err := a.fileAddress(file)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &callError{method: "download", code: http.StatusBadRequest, description: a.redactor.clean(err.Error())}
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, a.failed("download", &exchange{}, err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		description := http.StatusText(response.StatusCode)
		var refusal tgbotapi.APIResponse
		if json.NewDecoder(io.LimitReader(response.Body, 1<<10)).Decode(&refusal) == nil && refusal.Description != "" {
			description = refusal.Description
		}
		return nil, &callError{method: "download", code: response.StatusCode, description: a.redactor.clean(description)}
	}
	return &content{api: a, body: response.Body, left: maxFile}, nil
}

// fileAddress is where a file is.
func (a *api) fileAddress(file string) (string, error) {
	switch {
	case file == "":
		return "", &callError{method: "download", code: http.StatusNotFound, description: "the Bot API server does not serve the file"}
	case strings.HasPrefix(file, "/"): // A path on the server's disk, of which the plugin reads nothing.
		return "", &callError{method: "download", code: http.StatusNotFound, description: "the Bot API server serves no files, for it runs with --local"}
	}
	segments := strings.Split(file, "/")
	for i, segment := range segments {
		if segment == "." || segment == ".." {
			return "", &callError{method: "download", code: http.StatusNotFound, description: "the file has no proper path"}
		}
		segments[i] = url.PathEscape(segment)
	}
	return a.base + "/file/bot" + a.token + "/" + strings.Join(segments, "/"), nil
}

// content is a file as it comes.
type content struct {
	api  *api
	body io.ReadCloser
	left int // bytes that may still come
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if c.left -= n; c.left < 0 {
		description := fmt.Sprintf("the file has more than %d bytes", maxFile)
		return 0, &chat.FileError{Problem: tooLarge, Err: errors.New(description)}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, c.api.failed("download", &exchange{}, err)
	}
	if err != nil {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (c *content) Close() error { return c.body.Close() }
