package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// maxFile is the maximum size of a file that is fetched, in bytes.
const maxFile = 25 << 20

// media returns a message's files. Those of a forwarded message are its own.
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
		list = append(list, network.Offer(mediaOf(a), network.Token(origin{m.ChannelID, m.ID, a.ID, a.URL}), maxFile))
	}
	return list
}

func mediaOf(a *discordgo.MessageAttachment) chat.Media {
	kind := chat.File
	switch mime, _, _ := strings.Cut(a.ContentType, "/"); {
	case a.Waveform != "": // only voice messages have a waveform
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

// origin identifies an attachment. Its address is valid for about a day; requesting the message gives a new one.
type origin struct {
	Channel    string `json:"channel"`
	Message    string `json:"message"`
	Attachment string `json:"attachment"`
	URL        string `json:"url"`
}

// FetchFile implements sdk.FileFetcher.
func (c *channel) FetchFile(ctx context.Context, token chat.FileToken, _ int64) (io.ReadCloser, error) {
	var at origin
	if err := network.ReadToken(token, &at); err != nil {
		return nil, err
	}
	file, err := c.rest.file(ctx, at.URL)
	if e, ok := errors.AsType[*network.CallError](err); ok && stale(e.Status) {
		if at.URL, err = c.rest.fresh(ctx, at); err == nil {
			file, err = c.rest.file(ctx, at.URL)
		}
	}
	if err != nil {
		return nil, network.FileError(err)
	}
	return file, nil
}

// stale reports whether a response with the status means that the file's address has expired.
func stale(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusForbidden, http.StatusGone, http.StatusUnauthorized:
		return true
	default:
		return false
	}
}

// fresh returns the current address of an attachment.
func (r *rest) fresh(ctx context.Context, at origin) (string, error) {
	const what = "GET message"
	if parseID(at.Channel) == 0 || parseID(at.Message) == 0 {
		return "", newCallError(what, http.StatusNotFound, "the file belongs to no message")
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
	return "", newCallError(what, http.StatusNotFound, "the message no longer has the file")
}

// file opens a file by its address, which is from Discord; the transport refuses other hosts.
func (r *rest) file(ctx context.Context, address string) (io.ReadCloser, error) {
	client := &http.Client{
		Transport:     r.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return network.Download(ctx, client, address, maxFile)
}
