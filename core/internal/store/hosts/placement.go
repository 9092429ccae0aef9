package hosts

import (
	"database/sql"
	"errors"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// atHost returns the placement of lanes that only the named host claims.
func atHost(name string) string { return "host:" + name }

// ofAgent returns the placement of lanes that every host claims that runs the agent.
func ofAgent(label string) string { return "agent:" + label }

// Placement returns who may claim a session's lane from now on: the host that had its last turn, if that is alive and takes more of its
// agent, or if it has a turn of the session that a command may be for; otherwise every host that runs the agent.
func (s Self) Placement(t *engine.Tx, key string, lane domain.Lane) (string, error) {
	if s.Alone() {
		return "", nil
	}
	agent := session.AgentOf(key)
	var name string
	err := t.Row(`SELECT h.name FROM sessions s JOIN hosts h ON h.name = s.host
		WHERE s.key = ?1 AND h.gone_at IS NULL AND h.lease_until > ?2 AND
			(EXISTS (SELECT 1 FROM placements p WHERE p.host = h.id AND p.lane = ?3 AND p.placement = ?4)
			OR ?3 != 'turn' AND EXISTS (SELECT 1 FROM lanes l WHERE l.session = ?1 AND l.lane = 'turn' AND l.run_id IS NOT NULL AND l.host = h.id))`,
		[]any{key, t.Now, lane, ofAgent(agent)}, &name)
	if errors.Is(err, sql.ErrNoRows) {
		return ofAgent(agent), nil
	}
	return atHost(name), err
}

// Placements returns those from which this process claims lanes of a kind.
func (s Self) Placements(q engine.Querier, lane domain.Lane) (list []string, err error) {
	if s.Alone() {
		return []string{""}, nil
	}
	err = q.Each(`SELECT placement FROM placements WHERE host = ?1 AND lane = ?2`, []any{s.ID, lane}, func(rows engine.Rows) error {
		var placement string
		defer func() { list = append(list, placement) }()
		return rows.Scan(&placement)
	})
	return list, err
}

// Here returns the placement of a lane that this process has claimed.
func (s Self) Here() string {
	if s.Alone() {
		return ""
	}
	return atHost(s.Name)
}

// kinds are those of lanes.
var kinds = []domain.Lane{domain.TurnLane, domain.ControlLane, domain.CommandLane, domain.ShellLane}

// serve makes this process claim the lanes that are placed at it, and those of the agents.
func (s Self) serve(t *engine.Tx, agents []string) error {
	if _, err := t.Exec(`DELETE FROM placements WHERE host = ?1`, s.ID); err != nil {
		return err
	}
	placements := []string{s.Here()}
	for _, agent := range agents {
		placements = append(placements, ofAgent(agent))
	}
	for _, lane := range kinds {
		for _, placement := range placements {
			if _, err := t.Exec(`INSERT INTO placements (host, lane, placement) VALUES (?1, ?2, ?3)`, s.ID, lane, placement); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostMoved bounds the lanes that one step moves.
const mostMoved = 200

// move gives ready lanes of a placement another one. More reports whether there may be more of them.
func (s Self) move(t *engine.Tx, placement string, lanes ...domain.Lane) (moved []domain.Lane, more bool, err error) {
	for _, lane := range lanes {
		var keys []string
		err := t.Each(`SELECT session FROM lanes WHERE lane = ?1 AND placement = ?2 AND ready_at IS NOT NULL LIMIT ?3 + 0`,
			[]any{lane, placement, mostMoved}, func(rows engine.Rows) error {
				var key string
				defer func() { keys = append(keys, key) }()
				return rows.Scan(&key)
			})
		if err != nil {
			return moved, false, err
		}
		for _, key := range keys {
			to, err := s.Placement(t, key, lane)
			if err != nil {
				return moved, false, err
			}
			if to == placement {
				to = ofAgent(session.AgentOf(key))
			}
			if _, err := t.Exec(`UPDATE lanes SET placement = ?3 WHERE session = ?1 AND lane = ?2`, key, lane, to); err != nil {
				return moved, false, err
			}
		}
		if len(keys) > 0 {
			moved = append(moved, lane)
		}
		more = more || len(keys) == mostMoved
	}
	return moved, more, nil
}
