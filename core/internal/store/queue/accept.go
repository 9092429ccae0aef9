package queue

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/dedupe"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/google/uuid"
)

// Accept puts an event's message into its lane, unless the event was accepted before. It creates the session, with a
// first claude session, or updates its route, kind, title and times; an empty kind or title does not replace one.
// Queue, Burst, Expiry and Choice take effect in the same transaction: a running turn is ended, waiting messages are dropped,
// the message joins others, or a new claude session begins. The error is [domain.ErrLaneFull] for a lane with
// MaxWaiting waiting messages; then nothing is stored and the event may be sent again. It is [domain.ErrOtherRequest] for an event that was
// accepted before with another text, if the message says that it must be the same.
func (s *Store) Accept(ctx context.Context, in domain.Inbound) (domain.Acceptance, error) {
	if err := checkInbound(in); err != nil {
		return domain.Acceptance{}, fmt.Errorf("accept: %w", err)
	}
	c, err := encode(in.Message)
	if err != nil {
		return domain.Acceptance{}, fmt.Errorf("accept: %w", err)
	}
	return engine.Do(ctx, s.db, "accept", func(t *engine.Tx) (domain.Acceptance, error) { return s.accept(t, in, c) })
}

// checkInbound rejects a message that could not be found again.
func checkInbound(in domain.Inbound) error {
	if in.Lane != domain.TurnLane && in.Lane != domain.ControlLane && in.Lane != domain.CommandLane && in.Lane != domain.ShellLane {
		return fmt.Errorf("there is no lane %q", in.Lane)
	}
	return dedupe.CheckEvent(in.EventID, in.Message.Channel, in.Session)
}

// place is the position of a new message in its lane.
type place struct {
	seq     int64
	burst   int64 // the number of its burst's first message
	readyAt int64
	queued  int64 // messages in the lane, including this one
	held    int64 // of them those of the running turn
	running bool
	behind  bool // messages wait before it that are not in its burst
	moved   bool // the lane's head, or its time, may have changed
}

func (p place) waiting() int64 { return p.queued - p.held }

func (s *Store) accept(t *engine.Tx, in domain.Inbound, c content) (domain.Acceptance, error) {
	isNew, err := dedupe.RecordEvent(t, in.Message.Channel, in.EventID)
	if err == nil && in.Message.SameText {
		err = sameText(t, in, isNew)
	}
	if err != nil || !isNew {
		return domain.Acceptance{Duplicate: !isNew}, err
	}
	placement, err := s.self.Placement(t, in.Session, in.Lane)
	if err != nil {
		return domain.Acceptance{}, err
	}
	p, err := reserve(t, in, placement)
	if err != nil {
		return domain.Acceptance{}, err
	}
	if in.MaxWaiting > 0 && p.waiting() > int64(in.MaxWaiting) {
		return domain.Acceptance{}, domain.ErrLaneFull
	}
	before, err := touchSession(t, in)
	if err != nil {
		return domain.Acceptance{}, err
	}
	if err := sessions.KeepStarter(t, in.Session, in.Message.Starter); err != nil {
		return domain.Acceptance{}, err
	}
	accepted := domain.Acceptance{Seq: p.seq, Waiting: int(p.queued) - 1, Running: p.running}
	if in.Lane == domain.TurnLane {
		if accepted.Replaced, err = expire(t, in, p, before); err != nil {
			return domain.Acceptance{}, err
		}
		if err := admit(t, in, c, &p, &accepted); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if accepted.Seq != 0 {
		if accepted.Behind, err = behind(t, in, c, p); err != nil {
			return domain.Acceptance{}, err
		}
		if err := put(t, in, c, p, before); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if p.moved {
		if err := rearm(t, in.Session, in.Lane); err != nil {
			return domain.Acceptance{}, err
		}
	}
	// A running lane is woken when its run ends, and an unchanged head is known.
	if !accepted.Running && (p.queued == 1 || p.moved) {
		t.Announce(LaneReady(in.Lane))
	}
	if accepted.Seq == 0 {
		return accepted, nil
	}
	if accepted.Running && in.Lane == domain.TurnLane && in.Queue.Steers() {
		t.Announce(turnChanged(in.Session))
	}
	if in.Model != nil {
		if err := sessions.Configure(t, in.Session, func(o *domain.Overrides) { o.Model = *in.Model }); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Folder != nil {
		if accepted.Replaced, err = changeFolder(t, in.Session, *in.Folder); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Resume != "" {
		if accepted.Replaced, err = resume(t, in.Session, in.Resume); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Fork {
		if accepted.Replaced, err = fork(t, in.Session); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Choice != nil {
		if err := sessions.ChooseAgent(t, *in.Choice); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Reset {
		if err := t.Row(`SELECT claude_session FROM sessions WHERE key = ?1`, []any{in.Session}, &accepted.Replaced); err != nil {
			return domain.Acceptance{}, err
		}
		if err := bindWaiting(t, in.Session, math.MaxInt64); err != nil {
			return domain.Acceptance{}, err
		}
		if _, _, err = sessions.BeginClaude(t, in.Session); err != nil {
			return domain.Acceptance{}, err
		}
	}
	return accepted, nil
}

// put puts a message into its lane.
func put(t *engine.Tx, in domain.Inbound, c content, p place, before sessionBefore) error {
	r := row{
		session: in.Session, lane: in.Lane, seq: p.seq, event: event{in.Message.Channel, in.EventID}, content: c,
		receivedAt: before.receivedAt, readyAt: p.readyAt, previousAt: before.messageAt,
		mode: in.Queue.Mode, steers: in.Queue.Steers(), burst: p.burst, burstBy: joinedBy(in.Burst),
	}
	if in.Lane == domain.TurnLane { // a command cannot be withdrawn
		r.messageID = in.Message.ID
	}
	r.reacts = in.Reacts && r.messageID != ""
	if err := insert(t, r); err != nil || !r.reacts {
		return err
	}
	return reacts(t, in)
}

// sameText records a digest of a new event's text. For an event that is known it fails if that had another one. The rows of older versions
// have none.
func sameText(t *engine.Tx, in domain.Inbound, isNew bool) error {
	sum := sha256.Sum256([]byte(in.Message.Text))
	digest := int64(binary.LittleEndian.Uint64(sum[:]) | 1) // never zero
	if isNew {
		_, err := t.Exec(`UPDATE dedupe SET ref = ?3 WHERE kind = 'event' AND channel = ?1 AND id = ?2`, in.Message.Channel, in.EventID, digest)
		return err
	}
	var before int64
	err := t.Row(`SELECT COALESCE(ref, 0) FROM dedupe WHERE kind = 'event' AND channel = ?1 AND id = ?2`, []any{in.Message.Channel, in.EventID}, &before)
	if err == nil && before != 0 && before != digest {
		err = domain.ErrOtherRequest
	}
	return err
}

// rankSeqs is the distance in seqs between the ranks of commands: more than are ever used.
const rankSeqs = 1 << 40

// rank is a command's priority: owners' commands before others', urgent ones before the rest.
func rank(in domain.Inbound) int64 {
	if in.Lane == domain.TurnLane {
		return 0
	}
	var rank int64
	if in.Message.Authority == chat.Owner {
		rank++
	}
	if in.Urgent {
		rank += 2
	}
	return rank
}

// reserve reserves a position in the lane. The time of the lane's head does not change; a running lane becomes ready when
// the run ends. A command of a higher rank has a lower seq, even if one of a lower rank runs or waits for another try.
func reserve(t *engine.Tx, in domain.Inbound, placement string) (place, error) {
	p := place{readyAt: readyAt(in, t.Now, t.Now)}
	err := t.Row(`INSERT INTO lanes (session, lane, next_seq, queued, ready_at, owner, placement) VALUES (?1, ?2, 1, 1, ?3, ?4, ?5)
		ON CONFLICT (session, lane) DO UPDATE SET next_seq = lanes.next_seq + 1, queued = lanes.queued + 1,
			ready_at = CASE WHEN lanes.run_id IS NULL THEN COALESCE(lanes.ready_at, excluded.ready_at) END,
			owner = CASE WHEN lanes.queued = 0 THEN excluded.owner ELSE lanes.owner END, placement = excluded.placement
		RETURNING next_seq, queued, held, run_id IS NOT NULL`,
		[]any{in.Session, in.Lane, p.readyAt, in.Message.Authority == chat.Owner, placement}, &p.seq, &p.queued, &p.held, &p.running)
	before := rank(in)
	p.seq -= before * rankSeqs
	p.burst, p.moved = p.seq, before > 0 && p.queued > 1
	return p, err
}

// rearm makes an idle lane ready when its head is. It is called whenever the head, or its time, may have changed. A
// lane that was already ready keeps its position among the lanes.
func rearm(t *engine.Tx, session string, lane domain.Lane) error {
	_, err := t.Exec(`UPDATE lanes SET (ready_at, owner) =
			(SELECT CASE WHEN lanes.run_id IS NOT NULL THEN NULL WHEN i.ready_at >= ?3 THEN i.ready_at
					WHEN COALESCE(lanes.ready_at, ?3) >= ?3 THEN ?3
					WHEN lanes.ready_at > i.ready_at THEN lanes.ready_at ELSE i.ready_at END,
					CASE WHEN i.authority = ?4 THEN 1 ELSE 0 END
				FROM inbox i WHERE i.session = ?1 AND i.lane = ?2 ORDER BY i.seq LIMIT 1)
		WHERE session = ?1 AND lane = ?2`, session, lane, t.Now, chat.Owner)
	return err
}

// sessionBefore is a session's row before a message.
type sessionBefore struct {
	receivedAt   int64         // when this message is received
	messageAt    sql.NullInt64 // when its previous message was received
	interactedAt sql.NullInt64 // the last message that was use of it
	route        chat.Address
	peer         string
}

// touchSession creates or updates the session's row for a message. Commands do not count as messages here, because
// claude does not see them.
func touchSession(t *engine.Tx, in domain.Inbound) (before sessionBefore, err error) {
	m := in.Message
	var commandedAt sql.NullInt64
	err = t.Row(`SELECT message_at, commanded_at, interacted_at, channel, chat, thread, peer FROM sessions WHERE key = ?1`, []any{in.Session},
		&before.messageAt, &commandedAt, &before.interactedAt, &before.route.Channel, &before.route.Chat, &before.route.Thread, &before.peer)
	unknown := errors.Is(err, sql.ErrNoRows)
	if err != nil && !unknown {
		return before, err
	}
	before.receivedAt = arrival(in.Lane, t.Now, before.messageAt.Int64, commandedAt.Int64)
	var interacted, message, commanded sql.NullInt64
	came := &commanded
	if in.Lane == domain.TurnLane {
		came = &message
		interacted = sql.NullInt64{Int64: t.Now, Valid: m.Uses()}
	}
	*came = sql.NullInt64{Int64: before.receivedAt, Valid: true}
	if unknown {
		return before, makeSession(t, in, interacted, message, commanded)
	}
	_, err = t.Exec(`UPDATE sessions SET kind = COALESCE(NULLIF(?2, 0), kind), title = COALESCE(NULLIF(?3, ''), title),
			interacted_at = COALESCE(?4, interacted_at), message_at = COALESCE(?5, message_at), commanded_at = COALESCE(?6, commanded_at)
		WHERE key = ?1`, in.Session, m.Chat.Kind, m.Chat.Title, interacted, message, commanded)
	if err != nil || !m.FromChat() {
		return before, err
	}
	// Setting a route writes its index even if it is unchanged.
	peer := sessions.PeerOf(m)
	if m.Address() == before.route && peer == before.peer {
		return before, nil
	}
	_, err = t.Exec(`UPDATE sessions SET channel = ?2, chat = ?3, thread = ?4, peer = ?5 WHERE key = ?1`,
		in.Session, m.Channel, m.Chat.ID, m.Thread, peer)
	if err != nil {
		return before, err
	}
	return before, sessions.SetDirectChat(t, m, peer)
}

// arrival is the time of a message or command that is accepted now, after the session's last message and its last command. A command is
// later than every message before it, even in the same millisecond and in another session, and no message of its session is earlier than
// a command before it: /stop uses these times to decide what it stops.
func arrival(lane domain.Lane, now, message, command int64) int64 {
	before := command
	if lane != domain.TurnLane {
		now++
		before = message + 1
	}
	if before > now && before-now <= domain.MaxSkew.Milliseconds() {
		return before
	}
	return now
}

// makeSession creates a session's row.
func makeSession(t *engine.Tx, in domain.Inbound, interacted, message, commanded sql.NullInt64) error {
	m, claude := in.Message, uuid.NewString()
	if _, err := t.Exec(`INSERT INTO claude_sessions (id, session, begun_at, parent, folder) VALUES (?1, ?2, ?3, ?4, COALESCE(
			(SELECT c.folder FROM sessions p JOIN claude_sessions c ON c.id = p.claude_session WHERE p.key = ?4), ''))`,
		claude, in.Session, t.Now, in.Parent); err != nil {
		return err
	}
	var route chat.Address
	var peer string
	if m.FromChat() {
		route, peer = m.Address(), sessions.PeerOf(m)
	}
	_, err := t.Exec(`INSERT INTO sessions (key, claude_session, kind, title, channel, chat, thread, peer, created_at, reset_at, interacted_at, message_at, commanded_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11, ?12)`,
		in.Session, claude, m.Chat.Kind, m.Chat.Title, route.Channel, route.Chat, route.Thread, peer, t.Now, interacted, message, commanded)
	if err != nil {
		return err
	}
	return sessions.SetDirectChat(t, m, peer)
}

// expire begins a new claude session if the session has expired, the message counts as use of it, and nothing waits. It
// returns the replaced one.
func expire(t *engine.Tx, in domain.Inbound, p place, before sessionBefore) (replaced string, err error) {
	if in.Expiry == (domain.Expiry{}) || in.Reset || !in.Message.Uses() || p.queued > 1 {
		return "", nil
	}
	var begunAt int64
	err = t.Row(`SELECT c.begun_at FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session
		WHERE s.key = ?1 AND c.started_at IS NOT NULL`, []any{in.Session}, &begunAt)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil // it is still empty
	}
	if err != nil {
		return "", err
	}
	if !in.Expiry.Reached(engine.Moment(begunAt), engine.Moment(before.interactedAt.Int64), engine.Moment(t.Now)) {
		return "", nil
	}
	replaced, _, err = sessions.BeginClaude(t, in.Session)
	return replaced, err
}

// Outcome returns how the turn of an accepted event has ended. The error is [domain.ErrNotFound] for an event that was never
// accepted, or was purged.
func (s *Store) Outcome(ctx context.Context, channel string, id chat.EventID) (o domain.Outcome, err error) {
	err = s.db.View(ctx).Row(`SELECT COALESCE(r.state, ''), COALESCE(r.answer, ''), COALESCE(r.error, '')
		FROM dedupe d LEFT JOIN runs r ON r.channel = d.channel AND r.event_id = d.id AND r.state IN ('done', 'failed', 'cancelled')
		WHERE d.kind = 'event' AND d.channel = ?1 AND d.id = ?2 ORDER BY r.id DESC LIMIT 1`,
		[]any{channel, id}, &o.State, &o.Answer, &o.Error)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrNotFound
	}
	if err != nil {
		return domain.Outcome{}, fmt.Errorf("outcome: %w", err)
	}
	return o, nil
}
