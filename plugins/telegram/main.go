// Command clawhost-telegram is the Telegram channel: one bot of the Bot API. It polls for updates, so the machine needs no
// public address, and confirms an update only when the host has stored it.
package main

import "github.com/clawhost/clawhost/sdk"

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("telegram", version, sdk.NewChannel((*channel)(nil).Limits(0), open))
}
