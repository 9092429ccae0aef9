// Package domain defines the vocabulary of the host: messages, sessions, runs, notes, outbox items and questions, with
// their enums and limits. It has no SQL and does no I/O. The store returns its types, and other packages pass them on.
package domain
