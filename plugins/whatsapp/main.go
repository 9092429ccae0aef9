// Command clawhost-whatsapp is the WhatsApp channel: a linked device of one account, whose direct chats and groups are
// the host's. A message is acknowledged only when the host has it on disk; until then WhatsApp delivers it again.
package main

import (
	"go.mau.fi/whatsmeow/store"

	"github.com/clawhost/clawhost/sdk"
)

// version is set at build time.
var version = "dev"

func main() {
	quieten()
	store.SetOSInfo("clawhost", [3]uint32{0, 1, 0}) // As the phone lists the device.
	sdk.Serve("whatsapp", version, sdk.NewChannel((*channel)(nil).Limits(0), open))
}
