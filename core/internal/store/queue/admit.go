package queue

import (
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/sessions"
)

// patience bounds how long collected messages wait, in multiples of the quiet time.
const patience = 5

// admit applies what the session's queue says about a new message for its turn, whose place is reserved: it joins a burst,
// interrupts the running turn, drops what is too much, and sets when the message may be claimed. A message that is dropped
// at once has no place any more: accepted.Seq is 0.
func admit(t *engine.Tx, in domain.Inbound, c content, p *place, accepted *domain.Acceptance) error {
	b, err := openBurst(t, in, c, *p)
	if err != nil {
		return err
	}
	may, err := mayInterrupt(t, in, *p)
	if err != nil {
		return err
	}
	if may {
		if err := interrupt(t, in, p, b); err != nil {
			return err
		}
		accepted.Waiting, accepted.Running = int(p.queued)-1, false
	}
	// Bursts are never more than messages.
	if in.Queue.Cap > 0 && p.waiting() > int64(in.Queue.Cap) {
		over, droppable, err := overCap(t, in, *p, b)
		switch {
		case err != nil:
			return err
		case over > 0 && in.Queue.Drop == domain.DropNew && b.id == 0:
			accepted.Seq = 0
			return drop(t, in.Session, in.Lane,
				[]row{{event: event{in.Message.Channel, in.EventID}, seq: p.seq, content: c}}, tooMany)
		case over > 0 && in.Queue.Drop != domain.DropNew:
			for _, burst := range droppable[:min(over, len(droppable))] {
				if err := overflow(t, in, p, burst); err != nil {
					return err
				}
			}
			accepted.Waiting = int(p.queued) - 1
		}
	}
	return pace(t, in, p, b)
}

// pace decides when the message may be claimed: with its burst when that ends; after other messages when the chat has
// been quiet for a while.
func pace(t *engine.Tx, in domain.Inbound, p *place, b burst) error {
	if b.id != 0 {
		p.burst, p.readyAt = b.id, readyAt(in, t.Now, b.firstAt)
	}
	// A message does not wait for quiet because of its own burst.
	quiet := t.Now + in.Queue.Quiet.Milliseconds()
	p.behind = p.queued-1 > b.messages
	waits := in.Queue.Waits() && p.behind
	if waits {
		p.readyAt = max(p.readyAt, quiet)
	}
	if b.id != 0 {
		p.moved = true
		if err := extendBurst(t, in, *p); err != nil {
			return err
		}
	}
	if !waits || in.Queue.Mode != domain.Collect {
		return nil
	}
	// Collected messages wait for later ones.
	p.moved = true
	_, err := t.Exec(`UPDATE inbox SET ready_at = CASE WHEN received_at + ?4 < ?3 THEN received_at + ?4 ELSE ?3 END
		WHERE session = ?1 AND lane = 'turn' AND mode = ?2 AND batch IS NULL AND joined_run IS NULL
			AND ready_at < CASE WHEN received_at + ?4 < ?3 THEN received_at + ?4 ELSE ?3 END`,
		in.Session, domain.Collect, quiet, patience*in.Queue.Quiet.Milliseconds())
	return err
}

// tooMany is the reason of messages that were dropped because of the lane's cap.
const tooMany = "dropped: too many messages wait"

// mayDrop selects the messages that a cap may drop: written by people, and not urgent.
const mayDrop = `batch IS NULL AND urgent = 0 AND origin = ''`

// overCap returns how many bursts exceed the cap with a message, which joins a burst or begins its own, and which of
// the others may be dropped, in order.
func overCap(t *engine.Tx, in domain.Inbound, p place, joins burst) (over int, droppable []int64, err error) {
	bursts := map[int64]bool{}
	if joins.id == 0 {
		bursts[p.seq] = true
	}
	err = t.Each(`SELECT burst, `+mayDrop+` FROM inbox
		WHERE session = ?1 AND lane = ?2 AND joined_run IS NULL AND (batch IS NULL OR NOT ?3) ORDER BY seq`,
		[]any{in.Session, in.Lane, p.running}, func(rows engine.Rows) error {
			var burst int64
			var may bool
			if err := rows.Scan(&burst, &may); err != nil {
				return err
			}
			if may && !bursts[burst] && burst != joins.id {
				droppable = append(droppable, burst)
			}
			bursts[burst] = bursts[burst] || may
			return nil
		})
	return len(bursts) - in.Queue.Cap, droppable, err
}

// overflow drops a waiting burst.
func overflow(t *engine.Tx, in domain.Inbound, p *place, burst int64) error {
	dropped, err := remove(t, `DELETE FROM inbox WHERE session = ?1 AND lane = ?2 AND burst = ?3 AND joined_run IS NULL AND `+mayDrop+`
		RETURNING `+columns, in.Session, in.Lane, burst)
	if err != nil {
		return err
	}
	p.queued -= int64(len(dropped))
	p.moved = true
	if in.Queue.Drop != domain.DropOld {
		note := domain.Note{Kind: domain.NoteOverflow}
		for _, r := range dropped {
			m, err := r.decode()
			if err != nil {
				continue
			}
			if note.Text != "" {
				note.Text += "\n"
			}
			note.At, note.Sender, note.Text = engine.Moment(r.receivedAt), m.Sender.Name(), note.Text+m.Text
		}
		if note.Text != "" {
			if err := sessions.AddNote(t, in.Session, note, in.Queue.Cap); err != nil {
				return err
			}
		}
	}
	return drop(t, in.Session, in.Lane, dropped, tooMany)
}
