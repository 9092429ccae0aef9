package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

const (
	// maxFile is the maximum size of a file that is fetched or sent, in bytes. WhatsApp's own limit is higher.
	maxFile = 64 << 20
	// maxFileOverhead is the maximum growth of a file by encryption, in bytes.
	maxFileOverhead = 64
)

// source is where a file is, and how it is encrypted. It comes from the sender of the message or quote, and may be forged:
// the library checks what it downloads against the sums.
type source struct {
	Class             whatsmeow.MediaType
	Path              string
	Key               []byte
	Sum, EncryptedSum []byte
	Size              int64 // according to the message
}

// These implement the library's interface for downloads.

func (s source) GetMediaType() whatsmeow.MediaType { return s.Class }
func (s source) GetDirectPath() string             { return s.Path }
func (s source) GetMediaKey() []byte               { return s.Key }
func (s source) GetFileSHA256() []byte             { return s.Sum }
func (s source) GetFileEncSHA256() []byte          { return s.EncryptedSum }

// fileOf describes a message's file; nil: it has none.
func fileOf(m *waE2E.Message) []chat.Media {
	found := func(kind chat.MediaKind, m interface {
		whatsmeow.DownloadableMessage
		GetMimetype() string
		GetFileLength() uint64
	}, name string,
	) []chat.Media {
		media := chat.Media{Kind: kind, MIMEType: m.GetMimetype(), FileName: name, Size: int64(min(m.GetFileLength(), 1<<40))}
		from := source{whatsmeow.GetMediaType(m), m.GetDirectPath(), m.GetMediaKey(), m.GetFileSHA256(), m.GetFileEncSHA256(), media.Size}
		return []chat.Media{network.Offer(media, network.Token(from), maxFile)}
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

// FetchFile implements sdk.FileFetcher. The file is decrypted to disk before it is returned: none is in memory as a whole,
// and nothing is returned of a file that differs from what its message says.
func (c *channel) FetchFile(ctx context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	var from source
	if err := network.ReadToken(token, &from); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(from.Path, "/") {
		return nil, &chat.FileError{Problem: network.Unfetched, Err: errors.New("the message names no path of a media server")}
	}
	client, err := c.connected(ctx)
	if err != nil {
		return nil, err
	}
	file, err := c.download(ctx, client, from)
	if err == nil {
		return file, nil
	}
	err = network.WithoutAddress(err)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, &chat.FileError{Problem: "is larger than its message says", Err: err}
	case gone(err):
		return nil, &chat.FileError{Problem: network.Unfetched, Err: err}
	}
	return nil, err
}

// gone reports whether a file is permanently unavailable.
func gone(err error) bool {
	for _, final := range []error{
		whatsmeow.ErrMediaDownloadFailedWith403, whatsmeow.ErrMediaDownloadFailedWith404, whatsmeow.ErrMediaDownloadFailedWith410,
		whatsmeow.ErrNoURLPresent, whatsmeow.ErrUnknownMediaType, whatsmeow.ErrInvalidMediaHMAC, whatsmeow.ErrInvalidMediaEncSHA256,
		whatsmeow.ErrInvalidMediaSHA256, whatsmeow.ErrInvalidUnencryptedMediaSHA256, whatsmeow.ErrTooShortFile,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// download downloads a file to disk. It is deleted when it is closed.
func (c *channel) download(ctx context.Context, client *whatsmeow.Client, from source) (_ io.ReadCloser, err error) {
	on, err := c.temporary()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			discard(on)
		}
	}()
	if err := client.DownloadToFile(ctx, from, on); err != nil {
		return nil, err
	}
	switch end, err := on.Seek(0, io.SeekEnd); {
	case err != nil:
		return nil, err
	case end > maxFile:
		return nil, errTooLarge
	case end == 0 && from.Size > 0:
		return nil, errors.New("WhatsApp names no server that has the file")
	}
	if _, err := on.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return passing{on}, nil
}

// passing is a temporary file that is deleted when it is closed.
type passing struct{ *os.File }

// Close implements io.Closer.
func (p passing) Close() error {
	discard(p.File)
	return nil
}

// temporary creates a file that only this user can read.
func (c *channel) temporary() (*os.File, error) {
	f, err := os.CreateTemp(c.scratch(), "file-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	return f, nil
}

func discard(f *os.File) {
	_, _ = f.Close(), os.Remove(f.Name()) // the next start deletes what remains
}

var errTooLarge = errors.New("the file is larger than it may be")

// bounded limits the size of responses.
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
	if response.ContentLength > b.most { // the library would allocate disk space for all of it
		left, response.ContentLength = 0, -1
	}
	response.Body = network.Bound(response.Body, left, errTooLarge)
	return response, nil
}

// CloseIdleConnections is called by http.Client.
func (b bounded) CloseIdleConnections() {
	if closer, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
