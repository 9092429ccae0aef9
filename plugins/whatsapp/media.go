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
)

const (
	// maxFile is the largest file that is fetched or sent, in bytes. WhatsApp takes more.
	maxFile = 64 << 20
	// maxFileOverhead is how many bytes more a file is when it is encrypted.
	maxFileOverhead = 64
	// fetchTimeout bounds the fetching of one file. Messages behind it wait as long.
	fetchTimeout = time.Minute
	fetchTries   = 3
)

// file is a message's file, which is on a media server.
type file struct {
	media  chat.Media
	source whatsmeow.DownloadableMessage
}

// fileOf finds a message's file; nil: it has none.
func fileOf(m *waE2E.Message) *file {
	found := func(kind chat.MediaKind, source interface {
		whatsmeow.DownloadableMessage
		GetMimetype() string
		GetFileLength() uint64
	}, name string,
	) *file {
		size := int64(min(source.GetFileLength(), 1<<40))
		return &file{chat.Media{Kind: kind, MIMEType: source.GetMimetype(), FileName: name, Size: size}, source}
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

// fetch returns the file's description, with a ref if it is within the limit and could be had within the time: a message
// without its file is better than none.
func (c *channel) fetch(ctx context.Context, client *whatsmeow.Client, f *file, most limit) chat.Media {
	if f.media.Size > most.bytes {
		f.media.Problem = most.problem
		if f.media.Size > maxFile {
			f.media.Problem = fmt.Sprintf("is larger than %d MB", maxFile>>20)
		}
		c.log.Info("a file is not fetched: it "+f.media.Problem, "bytes", f.media.Size, "limit", most.bytes)
		return f.media
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	wait := c.pace.first
	for try := 1; ; try, wait = try+1, 2*wait {
		media, err := c.move(bounded, client, f)
		if err == nil {
			return media
		}
		if gone(err) || try == fetchTries || !pause(bounded, wait) {
			if ctx.Err() == nil {
				c.log.Warn("a file could not be fetched; its message goes on without it", "kind", f.media.Kind, "bytes", f.media.Size, "error", withoutAddress(err))
			}
			f.media.Problem = sdk.FileProblem(err)
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
		whatsmeow.ErrInvalidMediaSHA256, errTooLarge,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// move brings one file to the host's store. It is decrypted on disk: none is in memory as a whole.
func (c *channel) move(ctx context.Context, client *whatsmeow.Client, f *file) (chat.Media, error) {
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
	if err == nil {
		response.Body = &bound{response.Body, b.most}
	}
	return response, err
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
