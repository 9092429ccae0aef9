package core

import (
	"cmp"
	"context"
	"errors"
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

// attachments fetches, stores and deletes files. The maps are by the agents' labels.
type attachments struct {
	files    *files.Store
	inbound  map[string]*files.Inbound
	bringer  *files.Bringer
	outgoing map[string]*outgoing.Files
	reader   *extract.Reader
	speaker  *speech.Speaker

	transcriber speech.Method
	crowded     <-chan files.Crowded
}

func newAttachments(
	c *config.Config, s *store.Store, network files.Network, mediaDir, runDir string, family *process.Family, log hclog.Logger,
) attachments {
	programs := program.Runner{Dir: runDir, Family: family}
	crowded := make(chan files.Crowded, 1+2*len(c.AllAgents())) // one for each folder
	bounds := files.SpaceOptions{Most: c.Media.MaxStored, Each: c.Media.MaxPerChannel, Age: cmp.Or(c.Retention.Media, files.ForGood), Needs: s, Crowded: crowded}
	kept := files.Options{Dir: mediaDir, Rows: s, MaxBytes: c.Media.MaxBytes, Accept: c.Media.Accept, Space: bounds}
	if c.Media.Store == config.InDatabase {
		kept.Contents = s
	}
	stored := files.NewStore(kept)
	bounds.Most, bounds.Each = c.Media.MaxInbound, 0
	fetcher := web.NewFetcher(web.NewGuard())
	sent := outgoing.Options{
		Store: stored, Ledger: s, Own: c.Own(), Space: files.SpaceOptions{Most: c.Media.MaxOutbound, Age: bounds.Age, Crowded: crowded},
	}
	if c.Media.Fetch {
		sent.Web = fetcher
	}
	inbound, outbound := map[string]*files.Inbound{}, map[string]*outgoing.Files{}
	for _, a := range c.AllAgents() {
		sent.Agent, sent.Workspace = a.Label, a.Workspace
		inbound[a.Label], outbound[a.Label] = files.NewInbound(stored, a.Workspace, bounds), outgoing.New(sent, log)
	}
	pages := web.NewPages(web.Options{
		Fetcher: fetcher, Programs: programs, Command: c.Links.Command, Fetch: c.Links.Fetch, Self: process.Self(), Timeout: c.Links.Timeout,
	}, log)
	method := speech.MethodOf(c.Media)
	return attachments{
		files: stored, inbound: inbound, bringer: files.NewBringer(stored, network, log), outgoing: outbound,
		reader:  extract.NewReader(s, speech.NewTranscriber(method, stored, programs, c.Media.Timeout), pages, log),
		speaker: speech.NewSpeaker(stored, programs, c.Media.Speak, c.Media.Timeout), transcriber: method, crowded: crowded,
	}
}

// Transcription says what transcribes voice messages, or why nothing does. The commands that check the config print it.
func Transcription(c *config.Config) string { return speech.MethodOf(c.Media).String() }

// Forget deletes expired files.
func (a attachments) Forget(ctx context.Context) error {
	err := a.files.Discard(ctx)
	for label := range a.inbound {
		err = errors.Join(err, a.inbound[label].Discard(), a.outgoing[label].Discard(ctx))
	}
	return err
}

func (h *Host) mediaDir() string { return filepath.Join(h.config.StateDir, "media") }
