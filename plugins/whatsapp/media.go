package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/fetch"
)

const (
	// maxFile is the largest file that is fetched or sent, in bytes. WhatsApp takes more.
	maxFile = 64 << 20
	// maxFileOverhead is how many bytes more a file is when it is encrypted.
	maxFileOverhead = 64
	// fetchTimeout bounds the fetching of one file. Messages behind it wait as long.
	fetchTimeout = time.Minute
	fetchTries   = 3
	// maxTogether is how many bytes of files are fetched for one message.
	maxTogether = 2 * maxFile
)

// file is a message's file, which is on a media server.
type file struct {
	media  chat.Media
	source source
}

// source is where a file is, and how it is encrypted. It is the word of who wrote the message, or of who quotes it, and may be
// made up: the library holds what it downloads against the sums.
type source struct {
	Class             whatsmeow.MediaType
	Path              string
	Key               []byte
	Sum, EncryptedSum []byte
}

// These are what the library downloads by.

func (s source) GetMediaType() whatsmeow.MediaType { return s.Class }
func (s source) GetDirectPath() string             { return s.Path }
func (s source) GetMediaKey() []byte               { return s.Key }
func (s source) GetFileSHA256() []byte             { return s.Sum }
func (s source) GetFileEncSHA256() []byte          { return s.EncryptedSum }

// fileOf finds a message's file; nil: it has none.
func fileOf(m *waE2E.Message) *file {
	found := func(kind chat.MediaKind, m interface {
		whatsmeow.DownloadableMessage
		GetMimetype() string
		GetFileLength() uint64
	}, name string,
	) *file {
		return &file{
			chat.Media{Kind: kind, MIMEType: m.GetMimetype(), FileName: name, Size: int64(min(m.GetFileLength(), 1<<40))},
			source{whatsmeow.GetMediaType(m), m.GetDirectPath(), m.GetMediaKey(), m.GetFileSHA256(), m.GetFileEncSHA256()},
		}
	}
	switch {
	case m.GetImageMessage() != nil:
		return found(chat.Image, m.GetImageMessage(), "")
	case m.GetVideoMessage() != nil:
		return found(chat.Video, m.GetVideoMessage(), "")
	case m.GetPtvMessage() != nil:
		return found(chat.Video, m.GetPtvMessage(), "")
	case m.GetAudioMessage().GetPTT():
		return found(chat.Voice, m.GetAudioMessage(), "")
	case m.GetAudioMessage() != nil:
		return found(chat.Audio, m.GetAudioMessage(), "")
	case m.GetStickerMessage() != nil:
		return found(chat.Sticker, m.GetStickerMessage(), "")
	case m.GetDocumentMessage() != nil:
		return found(chat.File, m.GetDocumentMessage(), m.GetDocumentMessage().GetFileName())
	default:
		return nil
	}
}

// fetch returns the file's description, with a ref if there is room for it and it could be had within the time: a message without
// its file is better than none.
func (c *channel) fetch(ctx context.Context, client *whatsmeow.Client, f file, room fetch.Room) chat.Media {
	most := min(room.Bytes, maxFile)
	problem := room.Problem(f.media.Size)
	if f.media.Size > maxFile {
		problem = fmt.Sprintf("is larger than %d MB", maxFile>>20)
	}
	if problem != "" {
		c.log.Info("a file is not fetched: it "+problem, "bytes", f.media.Size, "limit", most)
		f.media.Problem = problem
		return f.media
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	wait := c.pace.first
	for try := 1; ; try, wait = try+1, 2*wait {
		media, err := c.move(bounded, client, f, most)
		if err == nil {
			return media
		}
		if gone(err) || try == fetchTries || !pause(bounded, wait) {
			if ctx.Err() == nil {
				c.log.Warn("a file could not be fetched; its message goes on without it", "kind", f.media.Kind, "bytes", f.media.Size, "error", withoutAddress(err))
			}
			f.media.Problem = sdk.FileProblem(err)
			if errors.Is(err, errTooLarge) {
				f.media.Problem = "is larger than its message says"
			}
			return f.media
		}
	}
}

// gone tells whether a file will not be there the next time either, or the host will not take it.
func gone(err error) bool {
	if refused := (*sdk.RefusedError)(nil); errors.As(err, &refused) {
		return true
	}
	for _, final := range []error{
		whatsmeow.ErrMediaDownloadFailedWith403, whatsmeow.ErrMediaDownloadFailedWith404, whatsmeow.ErrMediaDownloadFailedWith410,
		whatsmeow.ErrNoURLPresent, whatsmeow.ErrUnknownMediaType, whatsmeow.ErrInvalidMediaHMAC, whatsmeow.ErrInvalidMediaEncSHA256,
		whatsmeow.ErrInvalidMediaSHA256, whatsmeow.ErrInvalidUnencryptedMediaSHA256, whatsmeow.ErrTooShortFile, errTooLarge,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// move brings one file of at most so many bytes to the host's store. It is decrypted on disk: none is in memory as a whole.
func (c *channel) move(ctx context.Context, client *whatsmeow.Client, f file, most int64) (chat.Media, error) {
	on, err := c.temporary()
	if err != nil {
		return chat.Media{}, err
	}
	defer discard(on)
	if err := client.DownloadToFile(ctx, f.source, on); err != nil {
		return chat.Media{}, err
	}
	switch end, err := on.Seek(0, io.SeekEnd); {
	case err != nil:
		return chat.Media{}, err
	case end > most:
		return chat.Media{}, errTooLarge
	case end == 0 && f.media.Size > 0:
		return chat.Media{}, errors.New("WhatsApp names no server that has the file")
	}
	if _, err := on.Seek(0, io.SeekStart); err != nil {
		return chat.Media{}, err
	}
	return c.media.Upload(ctx, f.media, on)
}

// temporary makes a file that only this user can read.
func (c *channel) temporary() (*os.File, error) {
	f, err := os.CreateTemp(c.scratch(), "file-*")
	if err != nil {
		return nil, fmt.Errorf("make a file on its way: %w", err)
	}
	return f, nil
}

func discard(f *os.File) {
	_, _ = f.Close(), os.Remove(f.Name()) // What is left goes with the next start.
}

var errTooLarge = errors.New("the file is larger than it may be")

// bounded ends answers that are longer than they may be.
type bounded struct {
	http.RoundTripper
	most int64 // bytes
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	left := b.most
	if response.ContentLength > b.most { // The library would make room on the disk for all of it.
		left, response.ContentLength = 0, -1
	}
	response.Body = &bound{response.Body, left}
	return response, nil
}

// CloseIdleConnections is called by http.Client.
func (b bounded) CloseIdleConnections() {
	if closer, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

type bound struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bound) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
