package plugins_test

import (
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/sdk/chat"
)

// The files of a channel that is being started are waited for. Those of one that there is not, or no longer, can never be had.
// Behaviour: file-retry.
func TestFilesOfAChannelThatDoesNotRun(t *testing.T) {
	t.Parallel()
	set := plugins.New(nil, supervisor.New(supervisor.Options{Plugins: []supervisor.Spec{{Name: "telegram"}}}, hclog.NewNullLogger()))
	if _, err := set.FetchFile(t.Context(), "telegram", "token", 1); !errors.Is(err, media.ErrAway) {
		t.Errorf("a channel that is being started: %v", err)
	}
	_, err := set.FetchFile(t.Context(), "discord", "token", 1)
	if failed, ok := errors.AsType[*chat.FileError](err); !ok || failed.Problem != "could not be fetched, because its channel is not running" {
		t.Errorf("a channel that is disabled: %v", err)
	}
}
