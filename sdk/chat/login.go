package chat

// LoginStep is something for a person to do who logs in to a channel's account: exactly one of QR, Code and Input is set.
type LoginStep struct {
	ID           string // names the step; the answer to an input goes by it
	Instructions string // what to do, for people
	QR           string // the content of a QR code to scan; the next one takes its place
	Code         string // a code to type into an app of the network's
	Input        string // what the person is asked for; the login ends, and begins anew with the answer
}
