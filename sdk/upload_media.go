package sdk

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

const (
	// uploadTimeout bounds the fetching of a message's files for a host that does not fetch them itself. The message waits
	// meanwhile.
	uploadTimeout = 30 * time.Second
	// maxUpload is the size of the largest file that is fetched in this way, in bytes. The host accepts none that is
	// larger.
	maxUpload = 1 << 30
)

// fetchAndUpload uploads the files of a message that have tokens, for a host that does not fetch them itself.
func (in *inbox) fetchAndUpload(ctx context.Context, e chat.Event) chat.Event {
	message, said := e.Body.(chat.Message)
	channel, fetches := find[FileFetcher](in.plugin, pluginv1.Capability_CAPABILITY_CHANNEL_FETCH)
	if !said || !fetches {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	message.Media = in.upload(ctx, channel, message.Media)
	if message.ReplyTo != nil && !message.ReplyTo.IsSelf {
		quote := *message.ReplyTo
		quote.Media = in.upload(ctx, channel, quote.Media)
		message.ReplyTo = &quote
	}
	e.Body = message
	return e
}

func (in *inbox) upload(ctx context.Context, channel FileFetcher, files []chat.Media) []chat.Media {
	files = slices.Clone(files)
	for i, m := range files {
		if m.Token == "" || m.Ref != "" || m.Problem != "" {
			continue
		}
		stored, err := in.move(ctx, channel, m)
		if err != nil {
			in.plugin.log.Warn("a file could not be fetched; its message is submitted without it", "kind", m.Kind, "error", err)
			stored, stored.Problem = m, FileProblem(err)
		}
		stored.Token = ""
		files[i] = stored
	}
	return files
}

// move streams a file from the network to the host.
func (in *inbox) move(ctx context.Context, channel FileFetcher, m chat.Media) (chat.Media, error) {
	file, err := channel.FetchFile(ctx, m.Token, maxUpload)
	if err != nil {
		return chat.Media{}, err
	}
	stored, err := in.store.Upload(ctx, m, file)
	return stored, errors.Join(err, file.Close())
}
