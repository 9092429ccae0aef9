// Command clawhost-telegram is the Telegram channel: one bot of the Bot API, whose chats are the host's. It polls for
// updates, so the machine needs no address of its own, and confirms an update only when the host has it on disk.
package main

import "github.com/clawhost/clawhost/sdk"

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("telegram", version, sdk.NewChannel((*channel)(nil).Limits(0), open))
}
