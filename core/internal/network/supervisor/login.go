package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// loginStart is how long a plugin that is not running may take to start for a login.
const loginStart = 30 * time.Second

// Login lets a person log in to a channel's account and shows each step. A failed channel, such as one that lost its account,
// is started for it. An empty account without an error means that the last step asks for an answer. The error is for people.
func (s *Supervisor) Login(ctx context.Context, name string, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	if e := s.options.Plugins.Entry(name); e != nil {
		if state := e.Status().State; state == plugins.Failed || state == plugins.Waiting {
			if err := s.Restart(name); err != nil {
				return "", err
			}
		}
	}
	starting, cancel := context.WithTimeout(ctx, loginStart)
	defer cancel()
	plugin, err := s.options.Plugins.Await(starting, name)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("%s does not start; `clawhost plugin list` shows why", name)
	case err != nil:
		return "", err
	case !plugin.Can(remote.Login):
		return "", fmt.Errorf("%s has no login; its block in the config file has all settings", name)
	}
	return plugin.Login(ctx, answers, show)
}
