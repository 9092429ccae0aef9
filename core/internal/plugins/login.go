package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/sdk/chat"
)

// loginStart is how long a plugin that is not running may take to start for a login.
const loginStart = 30 * time.Second

// Login lets a person log in to a channel's account. A failed channel, such as one that lost its account, is started
// for it.
func (s *Set) Login(ctx context.Context, name string, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	for _, status := range s.supervisor.List() {
		if status.Name == name && (status.State == supervisor.Failed || status.State == supervisor.Waiting) {
			if err := s.supervisor.Restart(name); err != nil {
				return "", err
			}
		}
	}
	starting, cancel := context.WithTimeout(ctx, loginStart)
	defer cancel()
	live, err := s.supervisor.Await(starting, name)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("%s does not start; `clawhost plugin list` shows why", name)
	case err != nil:
		return "", err
	case !live.Can(remote.Login):
		return "", fmt.Errorf("%s has no login; its block in the config file has all settings", name)
	}
	return live.Login(ctx, answers, show)
}
