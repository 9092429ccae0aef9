package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/core/internal/store"
)

// attachments fetches, stores and deletes files.
type attachments struct {
	files    *media.Files
	inbound  *media.Inbound
	bringer  *media.Bringer
	outgoing *media.Outgoing
	reader   *media.Reader
	speaker  *media.Speaker

	transcriber media.Transcriber
	crowded     <-chan media.Crowded
}

func newAttachments(c *config.Config, s *store.Store, network media.Network, mediaDir, runDir string, family *process.Family, log hclog.Logger) attachments {
	crowded := make(chan media.Crowded, 3) // one for each folder
	bounds := media.SpaceOptions{Most: c.Media.MaxStored, Each: c.Media.MaxPerChannel, Needs: s, Crowded: crowded}
	files := media.NewFiles(media.FilesOptions{Dir: mediaDir, Rows: s, MaxBytes: c.Media.MaxBytes, Accept: c.Media.Accept, Space: bounds})
	bounds.Most, bounds.Each = c.Media.MaxInbound, 0
	inbound := media.NewInbound(files, c.Agent.Workspace, bounds)
	outbound := media.SpaceOptions{Most: c.Media.MaxOutbound, Crowded: crowded}
	voice := transcriber(c.Media)
	return attachments{
		crowded: crowded,
		files:   files,
		inbound: inbound,
		bringer: media.NewBringer(files, inbound, network, log),
		outgoing: media.NewOutgoing(media.OutgoingOptions{
			Files: files, Ledger: s, Workspace: c.Agent.Workspace, Own: c.Own(), Fetches: c.Media.Fetch, Space: outbound,
		}, log),
		reader: media.NewReader(media.ReaderOptions{
			Files: files, Extracts: s, Dir: runDir,
			Transcriber: voice, TranscribeTimeout: c.Media.Timeout, Links: c.Links.Command, Fetch: c.Links.Fetch, Self: process.Self(), LinksTimeout: c.Links.Timeout, Family: family,
		}, log),
		speaker:     media.NewSpeaker(files, c.Media.Speak, c.Media.Timeout, runDir, family),
		transcriber: voice,
	}
}

// transcriber returns how voice messages are transcribed.
func transcriber(c config.Media) media.Transcriber {
	if c.FindTranscriber {
		home, _ := os.UserHomeDir() // without one, models are only looked for elsewhere
		return media.FindTranscriber(home, c.TranscribeModel)
	}
	return media.NewTranscriber(c.Transcribe)
}

// Transcription says what transcribes voice messages, or why nothing does. The commands that check the config print it.
func Transcription(c *config.Config) string { return transcriber(c.Media).String() }

// Forget deletes expired files.
func (a attachments) Forget(ctx context.Context) error {
	return errors.Join(a.files.Discard(), a.inbound.Discard(), a.outgoing.Discard(ctx))
}

func (h *Host) mediaDir() string { return filepath.Join(h.config.StateDir, "media") }
