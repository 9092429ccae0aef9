package chat

// Typing says that a person is writing a message, or has stopped. It is a hint: it may be lost, and nothing depends on it.
type Typing struct {
	// Chat, Thread and Sender are those of the [Event] that would bring the message.
	Chat   Chat
	Thread ThreadID
	Sender Sender
	// Stopped says that the network has told that the person stopped. Otherwise they are writing.
	Stopped bool
}
