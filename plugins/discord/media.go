package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxFile is the largest file that is fetched, in bytes.
const maxFile = 25 << 20

// tooLargeFile is the problem of a file that has more than maxFile bytes.
const tooLargeFile = "is larger than 25 MB"

// media are a message's files. Those of a forwarded message are its own.
func media(m *discordgo.Message) (list []chat.Media) {
	all := slices.Clone(m.Attachments)
	if m.MessageReference != nil && m.MessageReference.Type == discordgo.MessageReferenceTypeForward {
		for _, s := range m.MessageSnapshots {
			if s.Message != nil {
				all = append(all, s.Message.Attachments...)
			}
		}
	}
	for _, a := range all {
		if a == nil {
			continue
		}
		file := mediaOf(a)
		if file.Size > maxFile {
			file.Problem = tooLargeFile
		} else {
			file.Token = origin{m.ChannelID, m.ID, a.ID, a.URL}.token()
		}
		list = append(list, file)
	}
	return list
}

func mediaOf(a *discordgo.MessageAttachment) chat.Media {
	kind := chat.File
	switch mime, _, _ := strings.Cut(a.ContentType, "/"); {
	case a.Waveform != "": // Only a voice message has the picture of its sound.
		kind = chat.Voice
	case mime == "image":
		kind = chat.Image
	case mime == "audio":
		kind = chat.Audio
	case mime == "video":
		kind = chat.Video
	}
	return chat.Media{Kind: kind, MIMEType: a.ContentType, FileName: a.Filename, Size: int64(a.Size)}
}

// place is where an attachment is. Its address is good for a day or so; whoever asks for the message gets a fresh one.
type origin struct {
	Channel    string `json:"channel"`
	Message    string `json:"message"`
	Attachment string `json:"attachment"`
	URL        string `json:"url"`
}

func (o origin) token() chat.FileToken {
	raw, _ := json.Marshal(o) // It has only texts.
	return chat.FileToken(raw)
}

// FetchFile implements sdk.FileFetcher.
func (c *channel) FetchFile(ctx context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	var at origin
	if err := json.Unmarshal([]byte(token), &at); err != nil {
		return nil, &chat.FileError{Problem: unfetched, Err: errors.New("the token is none of this plugin's")}
	}
	file, err := c.rest.file(ctx, at.URL)
	if e, ok := errors.AsType[*callError](err); ok && e.stale() {
		if at.URL, err = c.rest.fresh(ctx, at); err == nil {
			file, err = c.rest.file(ctx, at.URL)
		}
	}
	if err != nil {
		return nil, fileError(err)
	}
	return file, nil
}

// unfetched is the problem of a file that cannot be had for reasons that mean nothing to the agent.
const unfetched = "could not be fetched"

// fileError is an error of Discord's as the host understands it.
func fileError(err error) error {
	e, ok := errors.AsType[*callError](err)
	switch {
	case !ok:
		return err
	case e.ended != nil || e.mayPass():
		return &chat.FileError{RetryAfter: e.retryAfter, Err: err}
	}
	return &chat.FileError{Problem: unfetched, Err: err}
}

// stale reports whether the address of a file is not good any more.
func (e *callError) stale() bool {
	return e.gone() || e.status == http.StatusGone || e.status == http.StatusUnauthorized
}

// fresh is the address that an attachment has now.
func (r *rest) fresh(ctx context.Context, at origin) (string, error) {
	const what = "GET message"
	if parseID(at.Channel) == 0 || parseID(at.Message) == 0 {
		return "", &callError{what: what, status: http.StatusNotFound, message: "the file belongs to no message"}
	}
	var m discordgo.Message
	if err := r.call(ctx, what, http.MethodGet, "channels/"+at.Channel+"/messages/"+at.Message, nil, &m); err != nil {
		return "", err
	}
	all := m.Attachments
	for _, s := range m.MessageSnapshots {
		if s.Message != nil {
			all = append(all, s.Message.Attachments...)
		}
	}
	for _, a := range all {
		if a != nil && a.ID == at.Attachment {
			return a.URL, nil
		}
	}
	return "", &callError{what: what, status: http.StatusNotFound, message: "the message has the file no longer"}
}

// file opens a file by its address, which comes from Discord; the transport asks no other host.
func (r *rest) file(ctx context.Context, address string) (io.ReadCloser, error) {
	const what = "GET file"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &callError{what: what, status: http.StatusBadRequest, message: "the file has no proper address"}
	}
	client := &http.Client{Transport: r.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, &callError{what: what, message: r.clean(bare(err).Error()), ended: ctx.Err()}
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(&callError{
			what: what, status: response.StatusCode, message: http.StatusText(response.StatusCode), retryAfter: seconds(response.Header.Get("Retry-After")),
		}, response.Body.Close())
	}
	return &content{ReadCloser: response.Body, left: maxFile}, nil
}

// content is a file as it comes.
type content struct {
	io.ReadCloser
	left int // bytes that may still come
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.left -= n; c.left < 0 {
		return 0, &chat.FileError{Problem: tooLargeFile}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, &callError{what: "GET file", message: "the connection broke"}
	}
	return n, err
}
