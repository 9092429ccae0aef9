// Package store keeps everything that must survive a crash: the inbox and its lanes, runs, sessions, transcripts, the
// outbox, pairing, plugin state. Its API is the steps of one protocol, each of them one transaction; this package
// and those below it are the only ones with SQL.
//
// A message is accepted into a lane, the lane's head is claimed as a run, the run is completed together with the items
// of its answer, and each item is claimed, sent and marked delivered. Reclaim finds the steps that a crash interrupted.
// A run's id is its fencing token: a step of a run that has lost its lane returns [domain.ErrFenced].
package store
