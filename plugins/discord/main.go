// Command clawhost-discord is the Discord channel: one bot, whose direct messages, channels and threads are the host's
// chats. It connects out to Discord's gateway, so the machine needs no address of its own. Discord keeps no message for a
// bot that was away, so the bot asks for what it missed.
package main

import "github.com/clawhost/clawhost/sdk"

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("discord", version, sdk.NewChannel((*channel)(nil).Limits(0), open))
}
