// Command clawhost-discord is the Discord channel: one bot. It connects to Discord's gateway, so the machine needs no
// public address. Discord keeps no messages for a bot that was offline, so the bot requests what it missed.
package main

import "github.com/clawhost/clawhost/sdk"

// version is set at build time.
var version = "dev"

func main() {
	sdk.Serve("discord", version, sdk.NewChannel((*channel)(nil).Limits(0), open))
}
