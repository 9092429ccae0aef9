// Package wording holds the texts that people read: in chats, as owners, and of the clawhost command. A message is a
// constant or a function of a name and arguments, in English; no other package of core writes a sentence for people.
// Texts for the model and for the log, such as errors, prompts and descriptions of tools, are where they are made.
//
// The voice is the host's: "I" is the agent in its chat, "Claude" the model, "the host" the program, "the operator" who
// runs it. A message says what happened, then what to do, in short sentences and plain words.
package wording
