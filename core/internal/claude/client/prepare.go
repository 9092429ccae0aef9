package client

import "context"

// Prepare has claude make now what its first request needs: to describe its context it puts together the system prompt and the tools.
// The request then begins about 45 ms sooner, as was measured with 2.1.331. It is for a process without a turn; see
// [cli.Installation.DescribesContext].
func (c *Client) Prepare(ctx context.Context) {
	c.ask(ctx, map[string]any{"subtype": "get_context_usage", "detail": "summary"})
}
