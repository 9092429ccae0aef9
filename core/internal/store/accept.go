package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// messageNamespace is the namespace of the messages' uuids. It never changes: claude recognises a message by its uuid.
var messageNamespace = uuid.MustParse("5d2c7c5e-8b0f-4a57-9a3c-6f0f6b1f2e11")

// uuidOf is the id of an event's message for claude.
func uuidOf(edition chat.EventID, e event) string {
	return MessageUUID(e.channel, cmp.Or(edition, e.id))
}

// MessageUUID is the id of an event's message for claude, the same in every process.
func MessageUUID(channel string, id chat.EventID) string {
	return uuid.NewSHA1(messageNamespace, []byte(channel+"\x00"+string(id))).String()
}

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
	e, err := encode(in)
	if err != nil {
		return domain.Acceptance{}, fmt.Errorf("accept: %w", err)
	}
	return step(ctx, s, "accept", func(t *tx) (domain.Acceptance, error) { return t.accept(in, e) })
}

// checkInbound rejects a message that could not be found again.
func checkInbound(in domain.Inbound) error {
	if in.Lane != domain.TurnLane && in.Lane != domain.ControlLane && in.Lane != domain.CommandLane && in.Lane != domain.ShellLane {
		return fmt.Errorf("there is no lane %q", in.Lane)
	}
	return checkEvent(in.EventID, in.Message.Channel, in.Session)
}

func checkEvent(id chat.EventID, channel, session string) error {
	switch {
	case id == "" || len(id) > chat.MaxEventID:
		return fmt.Errorf("an event id has 1 to %d bytes, this one has %d", chat.MaxEventID, len(id))
	case channel == "":
		return errors.New("the message has no channel")
	case session == "":
		return errors.New("the message has no session")
	}
	return nil
}

// encoded is a message in the text form of an inbox row.
type encoded struct {
	message   string
	share     string
	overrides string
}

// hasFiles reports whether a message, or what it quotes, has files.
func hasFiles(m domain.Message) bool {
	return len(m.Media) > 0 || m.ReplyTo != nil && len(m.ReplyTo.Media) > 0
}

func encode(in domain.Inbound) (encoded, error) {
	m := in.Message
	message, err := json.Marshal(m)
	if err != nil {
		return encoded{}, err
	}
	e := encoded{message: string(message), share: fmt.Sprintf("%d %q %q %q", m.Authority, m.Channel, m.Chat.ID, m.Thread)}
	if m.Silent { // a silent message shares no answer with one whose answer is sent
		e.share += " silent"
	}
	runs := m.Overrides
	runs.Queue = domain.QueueOverrides{} // describes how it waits, not how it is run
	if runs != (domain.Overrides{}) {
		overrides, err := json.Marshal(runs)
		if err != nil {
			return encoded{}, err
		}
		e.overrides = string(overrides)
	}
	return e, nil
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

func (t *tx) accept(in domain.Inbound, e encoded) (domain.Acceptance, error) {
	isNew, err := t.unseen(in.Message.Channel, in.EventID)
	if err == nil && in.Message.SameText {
		err = t.sameText(in, isNew)
	}
	if err != nil || !isNew {
		return domain.Acceptance{Duplicate: !isNew}, err
	}
	p, err := t.place(in)
	if err != nil {
		return domain.Acceptance{}, err
	}
	if in.MaxWaiting > 0 && p.waiting() > int64(in.MaxWaiting) {
		return domain.Acceptance{}, domain.ErrLaneFull
	}
	before, err := t.touchSession(in)
	if err != nil {
		return domain.Acceptance{}, err
	}
	if err := t.keepStarter(in.Session, in.Message.Starter); err != nil {
		return domain.Acceptance{}, err
	}
	accepted := domain.Acceptance{Seq: p.seq, Waiting: int(p.queued) - 1, Running: p.running}
	if in.Lane == domain.TurnLane {
		if accepted.Replaced, err = t.expire(in, p, before); err != nil {
			return domain.Acceptance{}, err
		}
		if err := t.admit(in, e, &p, &accepted); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if accepted.Seq != 0 {
		receipt, err := t.receipt(in, e, p, accepted)
		if err != nil {
			return domain.Acceptance{}, err
		}
		if err := t.put(in, e, p, before.messageAt, receipt); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if p.moved {
		if err := t.rearm(in.Session, in.Lane); err != nil {
			return domain.Acceptance{}, err
		}
	}
	// A running lane is woken when its run ends, and an unchanged head is known. The Claim that waits for the lane then runs
	// in this transaction (writer.woken).
	if !accepted.Running && (p.queued == 1 || p.moved) {
		t.after.ready(in.Lane)
	}
	if accepted.Seq == 0 {
		return accepted, nil
	}
	if in.Model != nil {
		if err := t.configure(in.Session, func(o *domain.Overrides) { o.Model = *in.Model }); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Folder != nil {
		if accepted.Replaced, err = t.changeFolder(in.Session, *in.Folder); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Resume != "" {
		if accepted.Replaced, err = t.resume(in.Session, in.Resume); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Fork {
		if accepted.Replaced, err = t.fork(in.Session); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Choice != nil {
		if err := t.chooseAgent(*in.Choice); err != nil {
			return domain.Acceptance{}, err
		}
	}
	if in.Reset {
		if err := t.row(`SELECT claude_session FROM sessions WHERE key = ?1`, []any{in.Session}, &accepted.Replaced); err != nil {
			return domain.Acceptance{}, err
		}
		if err := t.bindWaiting(in.Session, math.MaxInt64); err != nil {
			return domain.Acceptance{}, err
		}
		if _, _, err = t.beginClaudeSession(in.Session); err != nil {
			return domain.Acceptance{}, err
		}
	}
	return accepted, nil
}

// put puts a message into its lane.
func (t *tx) put(in domain.Inbound, e encoded, p place, previousAt sql.NullInt64, receipt int64) error {
	var id chat.MessageID
	if in.Lane == domain.TurnLane { // a command cannot be withdrawn
		id = in.Message.ID
	}
	reacts := in.Reacts && id != ""
	_, err := t.exec(`INSERT INTO inbox (session, lane, seq, channel, event_id, message, received_at, ready_at, previous_at,
			mode, steers, share, overrides, size, burst, burst_by, message_id, receipt, reacts,
			authority, origin, fresh, edition, files)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)`,
		in.Session, in.Lane, p.seq, in.Message.Channel, in.EventID, e.message, t.arrivals.next(in.Lane, t.now), p.readyAt, previousAt,
		in.Queue.Mode, in.Queue.Steers(), e.share, e.overrides, len(in.Message.Text), p.burst, joinedBy(in.Burst), id, receipt, reacts,
		in.Message.Authority, in.Message.Origin, in.Message.Fresh, in.Message.Edition, hasFiles(in.Message))
	if err != nil || !reacts {
		return err
	}
	return t.reacts(in)
}

// unseen records an event, and reports whether it is new.
func (t *tx) unseen(channel string, id chat.EventID) (bool, error) {
	n, err := t.exec(`INSERT INTO dedupe (kind, channel, id, seen_at) VALUES ('event', ?1, ?2, ?3) ON CONFLICT DO NOTHING`,
		channel, id, t.now)
	return n > 0, err
}

// sameText records a digest of a new event's text. For an event that is known it fails if that had another one. The rows of older versions
// have none.
func (t *tx) sameText(in domain.Inbound, isNew bool) error {
	sum := sha256.Sum256([]byte(in.Message.Text))
	digest := int64(binary.LittleEndian.Uint64(sum[:]) | 1) // never zero
	if isNew {
		_, err := t.exec(`UPDATE dedupe SET ref = ?3 WHERE kind = 'event' AND channel = ?1 AND id = ?2`, in.Message.Channel, in.EventID, digest)
		return err
	}
	var before int64
	err := t.row(`SELECT COALESCE(ref, 0) FROM dedupe WHERE kind = 'event' AND channel = ?1 AND id = ?2`, []any{in.Message.Channel, in.EventID}, &before)
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

// place reserves a position in the lane. The time of the lane's head does not change; a running lane becomes ready when
// the run ends. A command of a higher rank has a lower seq, even if one of a lower rank runs or waits for another try.
func (t *tx) place(in domain.Inbound) (place, error) {
	p := place{readyAt: readyAt(in, t.now, t.now)}
	err := t.row(`INSERT INTO lanes (session, lane, next_seq, queued, ready_at, owner) VALUES (?1, ?2, 1, 1, ?3, ?4)
		ON CONFLICT (session, lane) DO UPDATE SET next_seq = lanes.next_seq + 1, queued = lanes.queued + 1,
			ready_at = CASE WHEN lanes.run_id IS NULL THEN COALESCE(lanes.ready_at, excluded.ready_at) END,
			owner = CASE WHEN lanes.queued = 0 THEN excluded.owner ELSE lanes.owner END
		RETURNING next_seq, queued, held, run_id IS NOT NULL`,
		[]any{in.Session, in.Lane, p.readyAt, in.Message.Authority == chat.Owner}, &p.seq, &p.queued, &p.held, &p.running)
	before := rank(in)
	p.seq -= before * rankSeqs
	p.burst, p.moved = p.seq, before > 0 && p.queued > 1
	return p, err
}

// rearm makes an idle lane ready when its head is. It is called whenever the head, or its time, may have changed. A
// lane that was already ready keeps its position among the lanes.
func (t *tx) rearm(session string, lane domain.Lane) error {
	_, err := t.exec(`UPDATE lanes SET (ready_at, owner) =
			(SELECT CASE WHEN lanes.run_id IS NOT NULL THEN NULL WHEN i.ready_at >= ?3 THEN i.ready_at
					WHEN COALESCE(lanes.ready_at, ?3) >= ?3 THEN ?3
					WHEN lanes.ready_at > i.ready_at THEN lanes.ready_at ELSE i.ready_at END,
					CASE WHEN i.authority = ?4 THEN 1 ELSE 0 END
				FROM inbox i WHERE i.session = ?1 AND i.lane = ?2 ORDER BY i.seq LIMIT 1)
		WHERE session = ?1 AND lane = ?2`, session, lane, t.now, chat.Owner)
	return err
}

// sessionBefore is a session's row before a message.
type sessionBefore struct {
	messageAt    sql.NullInt64 // when its previous message was received
	interactedAt sql.NullInt64 // the last message that was use of it
	route        chat.Address
	peer         string
}

// touchSession creates or updates the session's row for a message. Commands do not count as messages here, because
// claude does not see them.
func (t *tx) touchSession(in domain.Inbound) (before sessionBefore, err error) {
	m := in.Message
	var interactedAt, messageAt sql.NullInt64
	if in.Lane == domain.TurnLane {
		messageAt = sql.NullInt64{Int64: t.now, Valid: true}
		if m.Uses() {
			interactedAt = messageAt
		}
	}
	err = t.row(`SELECT message_at, interacted_at, channel, chat, thread, peer FROM sessions WHERE key = ?1`, []any{in.Session},
		&before.messageAt, &before.interactedAt, &before.route.Channel, &before.route.Chat, &before.route.Thread, &before.peer)
	if errors.Is(err, sql.ErrNoRows) {
		return before, t.makeSession(in, interactedAt, messageAt)
	}
	if err != nil {
		return before, err
	}
	_, err = t.exec(`UPDATE sessions SET kind = COALESCE(NULLIF(?2, 0), kind), title = COALESCE(NULLIF(?3, ''), title),
			interacted_at = COALESCE(?4, interacted_at), message_at = COALESCE(?5, message_at)
		WHERE key = ?1`, in.Session, m.Chat.Kind, m.Chat.Title, interactedAt, messageAt)
	if err != nil || !m.FromChat() {
		return before, err
	}
	// Setting a route writes its index even if it is unchanged.
	peer := peerOf(m)
	if m.Address() == before.route && peer == before.peer {
		return before, nil
	}
	_, err = t.exec(`UPDATE sessions SET channel = ?2, chat = ?3, thread = ?4, peer = ?5 WHERE key = ?1`,
		in.Session, m.Channel, m.Chat.ID, m.Thread, peer)
	if err != nil {
		return before, err
	}
	return before, t.setDirectChat(m, peer)
}

// makeSession creates a session's row.
func (t *tx) makeSession(in domain.Inbound, interactedAt, messageAt sql.NullInt64) error {
	m, claude := in.Message, uuid.NewString()
	if _, err := t.exec(`INSERT INTO claude_sessions (id, session, begun_at, parent, folder) VALUES (?1, ?2, ?3, ?4, COALESCE(
			(SELECT c.folder FROM sessions p JOIN claude_sessions c ON c.id = p.claude_session WHERE p.key = ?4), ''))`,
		claude, in.Session, t.now, in.Parent); err != nil {
		return err
	}
	var route chat.Address
	var peer string
	if m.FromChat() {
		route, peer = m.Address(), peerOf(m)
	}
	_, err := t.exec(`INSERT INTO sessions (key, claude_session, kind, title, channel, chat, thread, peer, created_at, reset_at, interacted_at, message_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11)`,
		in.Session, claude, m.Chat.Kind, m.Chat.Title, route.Channel, route.Chat, route.Thread, peer, t.now, interactedAt, messageAt)
	if err != nil {
		return err
	}
	return t.setDirectChat(m, peer)
}

// expire begins a new claude session if the session has expired, the message counts as use of it, and nothing waits. It
// returns the replaced one.
func (t *tx) expire(in domain.Inbound, p place, before sessionBefore) (replaced string, err error) {
	if in.Expiry == (domain.Expiry{}) || in.Reset || !in.Message.Uses() || p.queued > 1 {
		return "", nil
	}
	var begunAt int64
	err = t.row(`SELECT c.begun_at FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session
		WHERE s.key = ?1 AND c.started_at IS NOT NULL`, []any{in.Session}, &begunAt)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil // it is still empty
	}
	if err != nil {
		return "", err
	}
	if !in.Expiry.Reached(moment(begunAt), moment(before.interactedAt.Int64), moment(t.now)) {
		return "", nil
	}
	replaced, _, err = t.beginClaudeSession(in.Session)
	return replaced, err
}

// Outcome returns how the turn of an accepted event has ended. The error is [domain.ErrNotFound] for an event that was never
// accepted, or was purged.
func (s *Store) Outcome(ctx context.Context, channel string, id chat.EventID) (o domain.Outcome, err error) {
	err = s.view(ctx).row(`SELECT COALESCE(r.state, ''), COALESCE(r.answer, ''), COALESCE(r.error, '')
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
