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

// maxFile is the largest file that is fetched, in bytes.
const maxFile = 25 << 20

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
		list = append(list, network.Offer(mediaOf(a), network.Token(origin{m.ChannelID, m.ID, a.ID, a.URL}), maxFile))
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

// stale reports whether the address of a file, which was answered with the status, is not good any more.
func stale(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusForbidden, http.StatusGone, http.StatusUnauthorized:
		return true
	default:
		return false
	}
}

// fresh is the address that an attachment has now.
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
	return "", newCallError(what, http.StatusNotFound, "the message has the file no longer")
}

// file opens a file by its address, which comes from Discord; the transport asks no other host.
func (r *rest) file(ctx context.Context, address string) (io.ReadCloser, error) {
	client := &http.Client{Transport: r.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return network.Download(ctx, client, address, maxFile)
}
