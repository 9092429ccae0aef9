package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxFile is the largest file that is fetched, in bytes.
	maxFile = 25 << 20
	// fetchTimeout bounds the fetching of one message's files. Messages behind it wait as long.
	fetchTimeout = 30 * time.Second
	fetchTries   = 3
)

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

// attachmentsOf are a message's files, in the order of its media. Those of a forwarded message are its own.
func attachmentsOf(m *discordgo.Message) []*discordgo.MessageAttachment {
	all := slices.Clone(m.Attachments)
	if m.MessageReference != nil && m.MessageReference.Type == discordgo.MessageReferenceTypeForward {
		for _, s := range m.MessageSnapshots {
			if s.Message != nil {
				all = append(all, s.Message.Attachments...)
			}
		}
	}
	return slices.DeleteFunc(all, func(a *discordgo.MessageAttachment) bool { return a == nil })
}

// fetcher moves files from Discord to the host.
type fetcher struct {
	rest  *rest
	store sdk.Media
	log   hclog.Logger
	wait  time.Duration // after a failure; it doubles
}

// fetch returns the file's description, with a ref if its bytes could be had before ctx ends: a message without a file is better
// than none.
func (f fetcher) fetch(ctx context.Context, m chat.Media, address string) chat.Media {
	if m.Size > maxFile {
		f.log.Info("a file is too large to be fetched", "bytes", m.Size, "limit", maxFile)
		m.Problem = fmt.Sprintf("is larger than %d MB", maxFile>>20)
		return m
	}
	wait := f.wait
	for try := 1; ; try, wait = try+1, 2*wait {
		stored, err := f.move(ctx, m, address)
		if err == nil {
			return stored
		}
		if e, ok := errors.AsType[*callError](err); !ok || !e.mayPass() || try == fetchTries || !pause(ctx, wait) {
			f.log.Warn("a file could not be fetched; its message goes on without it", "kind", m.Kind, "error", err)
			m.Problem = sdk.FileProblem(err)
			return m
		}
	}
}

// move streams one file to the host's store. The address comes from Discord; the transport asks no other host.
func (f fetcher) move(ctx context.Context, m chat.Media, address string) (chat.Media, error) {
	const what = "GET file"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return chat.Media{}, &callError{what: what, status: http.StatusBadRequest, message: "the file has no proper address"}
	}
	client := &http.Client{Transport: f.rest.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return chat.Media{}, &callError{what: what, message: f.rest.clean(bare(err).Error()), ended: ctx.Err()}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return chat.Media{}, &callError{what: what, status: response.StatusCode, message: http.StatusText(response.StatusCode)}
	}
	return f.store.Upload(ctx, m, &content{body: response.Body, left: maxFile})
}

// content is a file as it comes; one that is larger than Discord said ends with an error.
type content struct {
	body io.Reader
	left int
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if c.left -= n; c.left < 0 {
		return 0, fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, &callError{what: "GET file", message: "the connection broke"}
	}
	return n, err
}
