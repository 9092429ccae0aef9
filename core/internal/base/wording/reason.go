package wording

import "fmt"

// A Reason says why a file is not sent, or an address not read. It follows the name of the file, or the address.
type Reason string

// Error implements error.
func (r Reason) Error() string { return string(r) }

// Reasons why a path of the agent is not sent.
const (
	PathOutside Reason = "is outside of my working folder"
	PathLink    Reason = "is a link, or behind one"
	PathNoFile  Reason = "is not a file"
	PathMissing Reason = "is not there"
	PathMoved   Reason = "changed while I looked at it"
	PathPrivate Reason = "is not for this chat"
	PathNames   Reason = "has a second name (a hard link)"
	PathOwn     Reason = "belongs to the host"
)

// Reasons why an address is not fetched.
const (
	AddressNotWeb     Reason = "is no address of the web"
	AddressNotPublic  Reason = "is not on the public internet"
	AddressLogin      Reason = "holds a login in its address"
	AddressPort       Reason = "is behind a port that is none of the web's"
	AddressUnresolved Reason = "is on a host that cannot be found"
	AddressTooLate    Reason = "took too long"
	AddressEndless    Reason = "leads on and on"
)

// AddressMalformed is the reason for not reading a page.
const AddressMalformed Reason = "is no page that could be read"

// AddressType says that an address leads to something else than a page.
func AddressType(kind string) Reason { return Reason("is a file of the type " + Code(kind)) }

// AddressStatus says that a server answers with a status other than 200.
func AddressStatus(status int) Reason {
	return Reason(fmt.Sprintf("is not available (the server says %d)", status))
}

// FilesTooLarge says that a file is over the limit for the files of one message.
func FilesTooLarge(most string) Reason {
	return Reason("is one of several files with more than the " + most + " that are fetched together")
}
