package wording

import "fmt"

// Reasons why a path of the agent is not sent. They follow the name of the file.
const (
	PathOutside = "is outside of my working folder"
	PathLink    = "is a link, or behind one"
	PathNoFile  = "is not a file"
	PathMissing = "is not there"
	PathMoved   = "changed while I looked at it"
	PathPrivate = "is not for this chat"
	PathNames   = "has a second name (a hard link)"
	PathOwn     = "belongs to the host"
)

// Reasons why an address is not fetched. They follow the address.
const (
	AddressNotWeb     = "is no address of the web"
	AddressNotPublic  = "is not on the public internet"
	AddressLogin      = "holds a login in its address"
	AddressPort       = "is behind a port that is none of the web's"
	AddressUnresolved = "is on a host that cannot be found"
	AddressTooLate    = "took too long"
	AddressEndless    = "leads on and on"
)

// AddressMalformed is the reason for not reading a page.
const AddressMalformed = "is no page that could be read"

// AddressType says that an address leads to something else than a page.
func AddressType(kind string) string { return "is a file of the type " + Code(kind) }

// AddressStatus says that a server answers with a status other than 200.
func AddressStatus(status int) string {
	return fmt.Sprintf("is not to be had (the server says %d)", status)
}

// FilesTooLarge says that a file is over the limit for the files of one message.
func FilesTooLarge(most string) string {
	return "is one of several files with more than the " + most + " that are fetched together"
}
