package claude

import (
	"context"

	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// Shell runs a line in a folder of an agent, or, without one, in its workspace, as [cli.Command.Shell] does. It is not part of the
// pool: the line takes no place of a process.
func (p *Pool) Shell(ctx context.Context, label, folder string, l cli.Line) (code int, err error) {
	of, err := p.cliOf(label, folder)
	if err != nil {
		return 0, err
	}
	return of.Shell(ctx, l, p.processes)
}
