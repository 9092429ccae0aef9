package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxFile is the largest file that the Bot API gives to a bot, in bytes.
	maxFile = 20 << 20
	// fetchTimeout bounds the fetching of one file. Messages behind it wait as long.
	fetchTimeout = 30 * time.Second
	fetchTries   = 3
)

// attachment is a message's file.
type attachment struct {
	media chat.Media
	id    string // Telegram's, for getFile; empty: it is not fetched
}

// attachmentOf describes a message's file; false: it has none.
func attachmentOf(m *tgbotapi.Message) (attachment, bool) {
	switch {
	case len(m.Photo) > 0:
		largest := m.Photo[len(m.Photo)-1]
		return attachment{chat.Media{Kind: chat.Image, MIMEType: "image/jpeg", Size: int64(largest.FileSize)}, largest.FileID}, true
	case m.Voice != nil:
		return attachment{chat.Media{Kind: chat.Voice, MIMEType: m.Voice.MimeType, Size: int64(m.Voice.FileSize)}, m.Voice.FileID}, true
	case m.Audio != nil:
		f := m.Audio
		return attachment{chat.Media{Kind: chat.Audio, MIMEType: f.MimeType, FileName: f.FileName, Size: int64(f.FileSize)}, f.FileID}, true
	case m.Video != nil:
		f := m.Video
		return attachment{chat.Media{Kind: chat.Video, MIMEType: f.MimeType, FileName: f.FileName, Size: int64(f.FileSize)}, f.FileID}, true
	case m.VideoNote != nil:
		return attachment{chat.Media{Kind: chat.Video, MIMEType: "video/mp4", Size: int64(m.VideoNote.FileSize)}, m.VideoNote.FileID}, true
	case m.Animation != nil: // It comes with a document that is the same file.
		f := m.Animation
		return attachment{chat.Media{Kind: chat.Video, MIMEType: f.MimeType, FileName: f.FileName, Size: int64(f.FileSize)}, f.FileID}, true
	case m.Sticker != nil:
		return attachment{media: chat.Media{Kind: chat.Sticker}}, true
	case m.Document != nil:
		f := m.Document
		return attachment{chat.Media{Kind: chat.File, MIMEType: f.MimeType, FileName: f.FileName, Size: int64(f.FileSize)}, f.FileID}, true
	default:
		return attachment{}, false
	}
}

// fetcher moves files from Telegram to the host.
type fetcher struct {
	api   *api
	store sdk.Media
	log   hclog.Logger
	wait  time.Duration // after a failure that may pass; it doubles
}

// fetch returns the file's description, with a ref if its bytes could be had within the time: a message without its file
// is better than none.
func (f fetcher) fetch(ctx context.Context, a attachment) chat.Media {
	if a.media.Size > maxFile {
		f.log.Info("a file is too large for Telegram to give it to a bot", "bytes", a.media.Size, "limit", maxFile)
		a.media.Problem = fmt.Sprintf("is larger than the %d MB that Telegram gives a bot", maxFile>>20)
		return a.media
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	wait := f.wait
	for try := 1; ; try, wait = try+1, 2*wait {
		media, err := f.move(bounded, a)
		if err == nil {
			return media
		}
		failed, ok := errors.AsType[*callError](err)
		if !ok || !failed.mayPass() || try == fetchTries || !pause(bounded, max(wait, failed.retryAfter)) {
			if ctx.Err() == nil {
				f.log.Warn("a file could not be fetched; its message goes on without it", "kind", a.media.Kind, "bytes", a.media.Size, "error", err)
			}
			a.media.Problem = sdk.FileProblem(err)
			return a.media
		}
	}
}

// move streams one file to the host's store.
func (f fetcher) move(ctx context.Context, a attachment) (chat.Media, error) {
	raw, err := f.api.call(ctx, "getFile", tgbotapi.Params{"file_id": a.id})
	if err != nil {
		return chat.Media{}, err
	}
	var found tgbotapi.File
	if err := f.api.read("getFile", raw, &found); err != nil {
		return chat.Media{}, err
	}
	content, err := f.api.download(ctx, found.FilePath)
	if err != nil {
		return chat.Media{}, err
	}
	defer content.Close()
	media := a.media
	if media.MIMEType == "" {
		media.MIMEType = mime.TypeByExtension(path.Ext(found.FilePath))
	}
	return f.store.Upload(ctx, media, content)
}

// mayPass tells whether the same call may succeed soon.
func (e *callError) mayPass() bool {
	return e.ended == nil && (e.code == 0 || e.code == http.StatusTooManyRequests || e.code >= http.StatusInternalServerError)
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
		return 0, &callError{method: "download", code: http.StatusRequestEntityTooLarge, description: description}
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
