// Package domain is the vocabulary of the host: messages, sessions, runs, notes, outbox items and questions, with their enums and
// bounds. It has no SQL and does no I/O. The store returns its types, and all other packages pass them on.
package domain
