package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/network/remote"
)

// forgetTimeout limits the deletion of what a plugin keeps of a person, whose files may be large.
const forgetTimeout = 5 * time.Minute

// ErrCannotForget is the error of a plugin that has no way to forget a person.
var ErrCannotForget = errors.New("it has no way to forget a person")

// Forget starts a plugin's binary, has it delete what it keeps of a person, and ends it. The person's instance and state folder are the
// plugin's; no other process of it may run. Left is what the plugin says that still has them.
func Forget(ctx context.Context, block *config.Plugin, who remote.Person, socketDir string, log hclog.Logger) (left []string, err error) {
	sockets := newSockets(&pids{})
	defer sockets.close()
	starting, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	l, err := launch(starting, block, socketDir, nil, sockets, log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.end() }() // an error means that it has ended
	described, err := l.plugin.Describe(starting, "")
	if err != nil {
		return nil, err
	}
	if !described.Can(remote.Forget) {
		return nil, ErrCannotForget
	}
	own, err := block.Decode(described.Schema)
	if err != nil {
		return nil, err
	}
	ctx, cancel = context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	return l.plugin.Forget(ctx, own, who)
}
