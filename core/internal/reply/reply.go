// Package reply makes of what the agent said, or of why it said nothing, what is sent to the chat.
package reply

// Empty is what a person is told who would otherwise wait in vain for an answer that came without words.
const Empty = "Claude finished without an answer. Ask again, or put it in other words."
