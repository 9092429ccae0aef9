package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"charm.land/huh/v2"

	"github.com/clawhost/clawhost/core/internal/operate/setup"
)

// errEnded is returned when a person has ended a form.
var errEnded = errors.New("nothing is written")

// fill shows a form. On a simple terminal, or where ACCESSIBLE is set, it asks line by line.
func (a *app) fill(ctx context.Context, fields ...huh.Field) error {
	keymap := huh.NewDefaultKeyMap()
	keymap.MultiSelect.Toggle.SetHelp("space", "choose")
	form := huh.NewForm(huh.NewGroup(fields...)).WithKeyMap(keymap).WithInput(a.in).WithOutput(a.out).
		WithAccessible(os.Getenv("ACCESSIBLE") != "" || os.Getenv("TERM") == "dumb")
	if terminal, ok := a.in.(*os.File); ok {
		k := &keys{File: terminal}
		defer k.ended.Store(true)
		form = form.WithInput(k)
	}
	err := form.RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) {
		return errEnded
	}
	return err
}

// keys is what one form reads of a terminal. The form's library can leave a reader behind (bubbletea 2.0.2 does not wait for it when its
// context ends), which would take the keys that are meant for the next form.
type keys struct {
	*os.File
	ended atomic.Bool
}

// Read reads what is typed, until the form has ended.
func (k *keys) Read(p []byte) (int, error) {
	if k.ended.Load() {
		return 0, io.EOF
	}
	return k.File.Read(p)
}

// askNetworks asks which networks are wanted, and how the agent is called.
func (a *app) askNetworks(ctx context.Context, there []setup.Network, b *beginning) error {
	var options []huh.Option[string]
	for _, n := range there {
		if n.Label != webchat {
			options = append(options, huh.NewOption(n.Label, n.Label))
		}
	}
	const titles = 2 // lines above the options
	for alone := false; len(options) > 0 && len(b.networks) == 0 && !alone; {
		err := a.fill(ctx, huh.NewMultiSelect[string]().Title("Which networks, besides the web chat?").
			Description("The space bar chooses one, Enter goes on.").Options(options...).Height(len(options)+titles).Value(&b.networks))
		if err == nil && len(b.networks) == 0 {
			err = a.fill(ctx, huh.NewConfirm().Title("No network is chosen. Go on with the web chat alone?").Value(&alone))
		}
		if err != nil {
			return err
		}
	}
	return a.fill(ctx,
		huh.NewInput().Title("How is the agent called?").Value(&b.name),
		huh.NewInput().Title("In which folder does it work?").Value(&b.workspace),
	)
}

// askSetting asks for a setting of a network until the network accepts it.
func (a *app) askSetting(ctx context.Context, d setup.Draft, n *setup.Network, i int, h setup.Host) error {
	s := &n.Settings[i]
	input := huh.NewInput().Title(n.Label + ": " + s.Description).Value(&s.Value).Validate(func(value string) error {
		if value == "" {
			return errors.New("a value is needed; Ctrl-C ends this")
		}
		tried := *n
		tried.Settings = append([]setup.Setting(nil), n.Settings...)
		tried.Settings[i].Value = value
		d.Networks = []setup.Network{tried}
		report, err := d.Check(ctx, h)
		if err != nil {
			return err
		}
		if len(report.Problems) > 0 {
			return errors.New(worded(report.Problems[0].Summary, report.Problems[0].Detail))
		}
		return nil
	})
	if s.Secret {
		input = input.EchoMode(huh.EchoModePassword)
	}
	return a.fill(ctx, input)
}
