package core

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/supervisor"
)

// Validate checks the plugins' own configs by the schemas that their binaries describe. It starts each enabled plugin's
// binary, asks it and ends it; none is configured. The error is a [config.Problems].
func Validate(ctx context.Context, c *config.Config, version string) error {
	found := make([]config.Problems, len(c.Plugins))
	var asking sync.WaitGroup
	for i, p := range c.Plugins {
		if p.Enabled {
			asking.Go(func() { found[i] = validate(ctx, p, version) })
		}
	}
	asking.Wait()
	var problems config.Problems
	for _, f := range found {
		problems = append(problems, f...)
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

func validate(ctx context.Context, p *config.Plugin, version string) config.Problems {
	description, err := supervisor.Describe(ctx, spec(p), version, os.TempDir(), hclog.NewNullLogger())
	if err != nil {
		return config.Problems{p.Place(nil, "Plugin cannot be asked for its schema", err.Error())}
	}
	_, err = p.Decode(description.Schema)
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		problems = config.Problems{p.Place(nil, "Plugin's config cannot be checked", err.Error())}
	}
	return problems
}
