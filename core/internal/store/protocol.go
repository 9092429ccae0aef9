// Package store keeps everything that must survive a crash: the inbox and its lanes, runs, sessions, transcripts, the
// outbox, pairing, plugin state. Its API is the steps of one protocol, each of them one transaction; it is the only
// package with SQL.
//
// A message is accepted into a lane, the lane's head is claimed as a run, the run is completed together with the items
// of its answer, and each item is claimed, sent and marked delivered. A step that a crash cut off is found again by
// Reclaim. A run's id is its fencing token: a step of a run that is no longer its lane's returns [domain.ErrFenced].
package store
