package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/media/extract"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/core/internal/store"
)

// attachments fetches, stores and deletes files.
type attachments struct {
	files    *files.Store
	inbound  *files.Inbound
	bringer  *files.Bringer
	outgoing *outgoing.Files
	reader   *extract.Reader
	speaker  *speech.Speaker

	transcriber speech.Method
	crowded     <-chan files.Crowded
}

func newAttachments(
	c *config.Config, s *store.Store, network files.Network, mediaDir, runDir string, family *process.Family, log hclog.Logger,
) attachments {
	programs := program.Runner{Dir: runDir, Family: family}
	crowded := make(chan files.Crowded, 3) // one for each folder
	bounds := files.SpaceOptions{Most: c.Media.MaxStored, Each: c.Media.MaxPerChannel, Needs: s, Crowded: crowded}
	stored := files.NewStore(files.Options{Dir: mediaDir, Rows: s, MaxBytes: c.Media.MaxBytes, Accept: c.Media.Accept, Space: bounds})
	bounds.Most, bounds.Each = c.Media.MaxInbound, 0
	inbound := files.NewInbound(stored, c.Agent.Workspace, bounds)
	fetcher := web.NewFetcher(web.NewGuard())
	sent := outgoing.Options{
		Store: stored, Ledger: s, Workspace: c.Agent.Workspace, Own: c.Own(), Space: files.SpaceOptions{Most: c.Media.MaxOutbound, Crowded: crowded},
	}
	if c.Media.Fetch {
		sent.Web = fetcher
	}
	pages := web.NewPages(web.Options{
		Fetcher: fetcher, Programs: programs, Command: c.Links.Command, Fetch: c.Links.Fetch, Self: process.Self(), Timeout: c.Links.Timeout,
	}, log)
	method := transcription(c.Media)
	return attachments{
		files: stored, inbound: inbound, bringer: files.NewBringer(stored, inbound, network, log), outgoing: outgoing.New(sent, log),
		reader:  extract.NewReader(s, speech.NewTranscriber(method, stored, programs, c.Media.Timeout), pages, log),
		speaker: speech.NewSpeaker(stored, programs, c.Media.Speak, c.Media.Timeout), transcriber: method, crowded: crowded,
	}
}

// transcription returns how voice messages are transcribed.
func transcription(c config.Media) speech.Method {
	if c.FindTranscriber {
		home, _ := os.UserHomeDir() // without one, models are only looked for elsewhere
		return speech.FindMethod(home, c.TranscribeModel)
	}
	return speech.NewMethod(c.Transcribe)
}

// Transcription says what transcribes voice messages, or why nothing does. The commands that check the config print it.
func Transcription(c *config.Config) string { return transcription(c.Media).String() }

// Forget deletes expired files.
func (a attachments) Forget(ctx context.Context) error {
	return errors.Join(a.files.Discard(), a.inbound.Discard(), a.outgoing.Discard(ctx))
}

func (h *Host) mediaDir() string { return filepath.Join(h.config.StateDir, "media") }
