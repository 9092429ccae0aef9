// Command desk has two commands of the host's names.
package main

import (
	"context"

	"github.com/clawhost/clawhost/sdk"
)

func main() {
	sdk.Serve("desk", "1.0.0",
		sdk.Command(sdk.CommandSpec{Name: "status", Usage: "/status", Summary: "Say how the desk is."}, answers("The desk is fine.")),
		sdk.Command(sdk.CommandSpec{Name: "debug", Usage: "/debug", Summary: "Say what is in the desk."}, answers("Pens.")))
}

func answers(text string) func(context.Context, sdk.CommandCall) (string, error) {
	return func(context.Context, sdk.CommandCall) (string, error) { return text, nil }
}
