package claude

import (
	"context"
	"io"
)

// Shell runs a line in the workspace as [cli.Command.Shell] does. It is not part of the pool: the line takes no place of a
// process.
func (p *Pool) Shell(ctx context.Context, name, line string, output io.Writer) (code int, err error) {
	return p.command.Shell(ctx, name, line, output, p.processes)
}
