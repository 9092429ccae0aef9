package chat

// LoginStep is a step for the person who logs in to a channel's account. Exactly one of QR, Code and Input is set.
type LoginStep struct {
	ID           string // identifies the step and the answer to its input
	Instructions string // what to do, for people
	QR           string // the content of a QR code to scan; the next step's replaces it
	Code         string // a code to type into an app of the network's
	Input        string // the prompt for an input; the login ends and starts again with the answer
}
