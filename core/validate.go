package core

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/process"
)

// Validate checks the plugins of a config, as [plugins.Validate] does.
func Validate(ctx context.Context, c *config.Config, version string, children *process.Children) error {
	return plugins.Validate(ctx, c, version, children)
}
