// Command clawhost-whatsapp is the WhatsApp channel: a linked device of one account. A message is acknowledged only when
// the host has stored it; until then WhatsApp redelivers it.
package main

import (
	"go.mau.fi/whatsmeow/store"

	"github.com/clawhost/clawhost/sdk"
)

// version is set at build time.
var version = "dev"

func main() {
	quieten()
	store.SetOSInfo("clawhost", [3]uint32{0, 1, 0}) // the device's name on the phone
	sdk.Serve("whatsapp", version, sdk.NewChannel((*channel)(nil).Limits(0), open))
}
