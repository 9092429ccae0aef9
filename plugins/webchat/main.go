// Command clawhost-webchat is a channel with a chat page that it serves itself, to this machine only.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clawhost/clawhost/sdk"
)

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("webchat", version, sdk.NewChannel(limits, open))
}

// config is the plugin's block in the host's config file.
type config struct {
	Listen string     `json:"listen,omitempty" jsonschema:"loopback address of the page (default 127.0.0.1:7080)"`
	Token  sdk.Secret `json:"token,omitempty" jsonschema:"what a page must know (default: made once and kept)"`
	Title  string     `json:"title,omitempty" jsonschema:"the page's title (default Claw)"`
}

// Check validates what the schema cannot.
func (c config) Check() error {
	var token error
	if c.Token.Reveal() != "" && !tokenPattern.MatchString(c.Token.Reveal()) {
		token = errToken
	}
	return errors.Join(sdk.ConfigError("listen", checkListen(cmp.Or(c.Listen, defaultListen))), sdk.ConfigError("token", token))
}

// open loads the conversation and binds the address.
func open(ctx context.Context, env sdk.Env, cfg config) (_ *channel, err error) {
	token := cfg.Token.Reveal()
	folder, err := os.OpenFile(filepath.Join(env.StateDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	defer closeOnError(&err, folder.Close)
	if err := lock(ctx, folder.Fd()); err != nil {
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	if token == "" {
		if token, err = ownToken(env.StateDir); err != nil {
			return nil, err
		}
	}
	changed := newBroadcast()
	kept, damaged, err := openJournal(filepath.Join(env.StateDir, journalFile), changed)
	if err != nil {
		return nil, err
	}
	defer closeOnError(&err, kept.close)
	if damaged > 0 {
		env.Log.Warn("skipping unreadable messages", "count", damaged)
	}
	listener, err := listen(ctx, env, cmp.Or(cfg.Listen, defaultListen))
	if err != nil {
		return nil, sdk.ConfigError("listen", err)
	}
	md := newMarkdown()
	toHTML := func(markdown string) string { return render(md, markdown) }
	return &channel{
		log:      env.Log,
		title:    cmp.Or(cfg.Title, "Claw"),
		demo:     env.Demo,
		token:    token,
		listener: listener,
		changed:  changed,
		journal:  kept,
		live:     newLive(changed, toHTML),
		menu:     &menu{changed: changed},
		media:    env.Media,
		render:   toHTML,
		release:  folder.Close,
	}, nil
}

// closeOnError undoes a step of open when a later one fails.
func closeOnError(err *error, closeIt func() error) {
	if *err != nil {
		*err = errors.Join(*err, closeIt())
	}
}
