package claude

import (
	"context"
	"io"
)

// Shell runs a line in an agent's workspace as [cli.Command.Shell] does. It is not part of the pool: the line takes no place of a
// process.
func (p *Pool) Shell(ctx context.Context, agent, name, line string, output io.Writer) (code int, err error) {
	return p.agents[agent].Shell(ctx, name, line, output, p.processes)
}
