package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ReactionsChanged is the topic of messages that have a new stage.
const ReactionsChanged engine.Topic = "reactions"

// LaneReady is the topic of lanes of a kind that may have become claimable, or have a new time.
func LaneReady(lane domain.Lane) engine.Topic { return engine.Topic("lane " + lane) }

// runEnded is the topic of the end of an event's run.
func runEnded(channel string, id chat.EventID) engine.Topic {
	return engine.Topic("ended " + channel + " " + strconv.Quote(string(id)))
}

// turnChanged is the topic of a session's running turn: it may have lost its lane, or messages wait that may be steered into it.
func turnChanged(session string) engine.Topic {
	return engine.Topic("turn " + strconv.Quote(session))
}

// WatchTurn returns a channel that receives a value when a session's running turn may have lost its lane, or when messages may wait that can
// be steered into it. What is committed after the claim of the turn is not missed if that calls WatchTurn. [Store.MessagesWait] then says
// what it is. The func ends the watch and may be called more than once.
func (s *Store) WatchTurn(session string) (<-chan struct{}, func()) {
	return s.db.Watch(turnChanged(session))
}

// MessagesWait reports whether messages wait behind a run in its lane. It is false for a run that has ended by itself. The error is
// [domain.ErrFenced] for a run that has lost its lane.
func (s *Store) MessagesWait(ctx context.Context, runID int64) (bool, error) {
	var state domain.RunState
	var waiting bool
	err := s.db.View(ctx).Row(`SELECT r.state, COALESCE(l.queued > l.held, FALSE) FROM runs r LEFT JOIN lanes l ON l.run_id = r.id WHERE r.id = ?1`,
		[]any{runID}, &state, &waiting)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (state == domain.RunCancelled || state == domain.RunLost):
		return false, domain.ErrFenced
	case err != nil:
		return false, fmt.Errorf("look whether messages wait: %w", err)
	}
	return waiting, nil
}

// Watch returns a channel that receives a value when the event's run ends. Call [Store.Outcome] after Watch,
// because the run may have ended already. The func ends the watch and may be called more than once.
func (s *Store) Watch(channel string, id chat.EventID) (<-chan struct{}, func()) {
	return s.db.Watch(runEnded(channel, id))
}
