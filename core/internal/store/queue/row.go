package queue

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/sdk/chat"
)

// event names an accepted event.
type event struct {
	channel string
	id      chat.EventID
}

// content is what a row says of a message, in the form of its columns.
type content struct {
	message   string // JSON
	share     string // messages with the same value may share an answer
	overrides string // JSON; empty: none
	size      int64  // of the text, in bytes
	authority chat.Authority
	origin    domain.Origin
	fresh     bool
	edition   chat.EventID
	files     bool // it, or what it quotes, has some
}

// row is a message in a lane. It is written and read by this type alone: columns, values and dest have the same order.
type row struct {
	session string
	lane    domain.Lane
	seq     int64
	event
	content
	ticket     sql.NullInt64 // the seq that it was accepted with; NULL: it still has that
	receivedAt int64
	readyAt    int64
	previousAt sql.NullInt64 // when the message before was received
	mode       domain.Mode
	steers     bool
	burst      int64
	burstBy    string
	messageID  chat.MessageID
	receipt    int64 // the item that shows that it waits; 0: none
	reacts     bool  // reactions show the state of its answer

	attempts   int
	claude     sql.NullString // the claude session that it was claimed or written for
	consumedAt sql.NullInt64  // claude has read it
	batch      sql.NullInt64  // the seq of the first message of its run
	joinedRun  sql.NullInt64  // it was steered into this run
	said       string         // of its answer
	sent       string         // by tools, while it was answered: JSON; its column is told
	preview    int64          // of its answer; 0: none
}

const (
	columns = `session, lane, seq, channel, event_id, message, share, overrides, size, authority, origin, fresh, edition, files,
		ticket, received_at, ready_at, previous_at, mode, steers, burst, burst_by, message_id, receipt, reacts,
		attempts, claude_session, consumed_at, batch, joined_run, said, told, preview`
	insertRow = `INSERT INTO inbox (` + columns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
		?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33)`
)

func (r *row) values() []any {
	return []any{
		r.session, r.lane, r.seq, r.channel, r.id, r.message, r.share, r.overrides, r.size, r.authority, r.origin, r.fresh, r.edition, r.files,
		r.ticket, r.receivedAt, r.readyAt, r.previousAt, r.mode, r.steers, r.burst, r.burstBy, r.messageID, r.receipt, r.reacts,
		r.attempts, r.claude, r.consumedAt, r.batch, r.joinedRun, r.said, r.sent, r.preview,
	}
}

func (r *row) dest() []any {
	return []any{
		&r.session, &r.lane, &r.seq, &r.channel, &r.id, &r.message, &r.share, &r.overrides, &r.size, &r.authority, &r.origin, &r.fresh, &r.edition, &r.files,
		&r.ticket, &r.receivedAt, &r.readyAt, &r.previousAt, &r.mode, &r.steers, &r.burst, &r.burstBy, &r.messageID, &r.receipt, &r.reacts,
		&r.attempts, &r.claude, &r.consumedAt, &r.batch, &r.joinedRun, &r.said, &r.sent, &r.preview,
	}
}

// insert puts a row into the inbox.
func insert(t *engine.Tx, r row) error {
	_, err := t.Exec(insertRow, r.values()...)
	return err
}

// encode returns what a row says of a message.
func encode(m domain.Message) (content, error) {
	message, err := json.Marshal(m)
	if err != nil {
		return content{}, err
	}
	c := content{
		message: string(message), share: fmt.Sprintf("%d %q %q %q", m.Authority, m.Channel, m.Chat.ID, m.Thread), size: int64(len(m.Text)),
		authority: m.Authority, origin: m.Origin, fresh: m.Fresh, edition: m.Edition,
		files: len(m.Media) > 0 || m.ReplyTo != nil && len(m.ReplyTo.Media) > 0,
	}
	if m.Silent { // a silent message shares no answer with one whose answer is sent
		c.share += " silent"
	}
	runs := m.Overrides
	runs.Queue = domain.QueueOverrides{} // describes how it waits, not how it is run
	if runs != (domain.Overrides{}) {
		overrides, err := json.Marshal(runs)
		if err != nil {
			return content{}, err
		}
		c.overrides = string(overrides)
	}
	return c, nil
}

// decode returns the message.
func (c content) decode() (m domain.Message, err error) {
	return m, json.Unmarshal([]byte(c.message), &m)
}

// queued returns what a turn gets of a message.
func (r *row) queued() (domain.Queued, error) {
	m, err := r.decode()
	return domain.Queued{
		Seq: r.seq, Number: r.number(), Burst: r.burst, Message: m, EventID: r.id, UUID: r.uuid(), ClaudeSession: r.claude.String,
		ConsumedAt: engine.Moment(r.consumedAt.Int64), ReceivedAt: engine.Moment(r.receivedAt), Attempts: r.attempts,
	}, err
}

// number is what people name a message by while it waits.
func (r *row) number() int64 {
	if r.ticket.Valid {
		return r.ticket.Int64
	}
	return r.seq
}

// uuid is the id of a message for claude.
func (r *row) uuid() string { return domain.MessageUUID(r.channel, cmp.Or(r.edition, r.id)) }
