package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxFile is the maximum size of a file that the Bot API provides to bots, in bytes.
const maxFile = 20 << 20

// attachment describes a message's file, or returns false if it has none. Its token is Telegram's file id, which stays
// valid for this bot. A sticker has no token.
func attachment(m *tgbotapi.Message) (chat.Media, bool) {
	file := func(media chat.Media, size int, id string) (chat.Media, bool) {
		media.Size = int64(size)
		return network.Offer(media, chat.FileToken(id), maxFile), true
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
	case m.Animation != nil: // the message also has the same file as a document
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

// fileError converts an error of the Bot API for the host.
func fileError(err error) error {
	if failed, ok := errors.AsType[*callError](err); ok && failed.says("too big") {
		return &chat.FileError{Problem: network.TooLarge(maxFile), Err: err}
	}
	return network.FileError(err)
}

// download opens a file by the path from getFile.
func (a *api) download(ctx context.Context, file string) (io.ReadCloser, error) {
	address, err := a.fileAddress(file)
	if err != nil {
		return nil, err
	}
	return network.Download(ctx, a.client, address, maxFile)
}

// fileAddress returns the address of a file.
func (a *api) fileAddress(file string) (string, error) {
	switch {
	case file == "":
		return "", newCallError("GET file", http.StatusNotFound, "the Bot API server does not serve the file")
	case strings.HasPrefix(file, "/"): // a path on the server's disk, which the plugin does not read
		return "", newCallError("GET file", http.StatusNotFound, "the Bot API server serves no files because it runs with --local")
	}
	segments := strings.Split(file, "/")
	for i, segment := range segments {
		if segment == "." || segment == ".." {
			return "", newCallError("GET file", http.StatusNotFound, "the file has no proper path")
		}
		segments[i] = url.PathEscape(segment)
	}
	return a.base + "/file/bot" + a.token + "/" + strings.Join(segments, "/"), nil
}
