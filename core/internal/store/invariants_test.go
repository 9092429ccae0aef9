package store_test

// invariants are queries that find rows which must not be.
var invariants = map[string]string{
	"a waiting message goes by a number of its own": `
		SELECT COUNT(*) FROM (SELECT 1 FROM inbox GROUP BY session, lane, COALESCE(ticket, seq) HAVING COUNT(*) > 1) AS many`,
	"what is urgent is so in its lane": `
		SELECT COUNT(*) FROM inbox i JOIN lanes l ON l.session = i.session AND l.lane = i.lane WHERE i.urgent > l.urgent`,
	"no message is number 0": `
		SELECT COUNT(*) FROM inbox WHERE seq = 0`,
	"what shows that a message waits is for one that does": `
		SELECT COUNT(*) FROM inbox WHERE receipt != 0 AND (batch IS NOT NULL OR joined_run IS NOT NULL)`,
	"a message shows, or is to show, how far it is": `
		SELECT COUNT(*) FROM reactions x LEFT JOIN inbox i ON i.channel = x.channel AND i.event_id = x.event_id
			WHERE stage IS DISTINCT FROM CASE WHEN i.seq IS NULL THEN
				(SELECT CASE state WHEN 'cancelled' THEN 'dropped' ELSE state END FROM runs r
					WHERE r.channel = x.channel AND r.event_id = x.event_id AND state IN ('done', 'failed', 'cancelled'))
				WHEN i.batch IS NOT NULL OR i.joined_run IS NOT NULL THEN 'running' ELSE 'waiting' END`,
	"what reacts is not forgotten before its end": `
		SELECT COUNT(*) FROM inbox i WHERE (reacts != 0) != EXISTS (SELECT 1 FROM reactions x WHERE x.channel = i.channel AND x.event_id = i.event_id)`,
	"only what was claimed has said something": `
		SELECT COUNT(*) FROM inbox WHERE (said != '' OR preview != 0) AND batch IS DISTINCT FROM seq`,
	"a lane is ready exactly when it has messages and does not run": `
		SELECT COUNT(*) FROM lanes WHERE (queued > 0 AND run_id IS NULL) != (ready_at IS NOT NULL)`,
	"a lane's counter is its number of messages": `
		SELECT COUNT(*) FROM lanes l WHERE queued != (SELECT COUNT(*) FROM inbox i WHERE i.session = l.session AND i.lane = l.lane)`,
	"every message has a lane": `
		SELECT COUNT(*) FROM inbox i WHERE NOT EXISTS (SELECT 1 FROM lanes l WHERE l.session = i.session AND l.lane = i.lane)`,
	"every message has a session": `
		SELECT COUNT(*) FROM inbox i WHERE NOT EXISTS
			(SELECT 1 FROM sessions s JOIN claude_sessions c ON c.id = s.claude_session WHERE s.key = i.session)`,
	"a running run is its lane's": `
		SELECT COUNT(*) FROM runs r WHERE (state = 'running') != EXISTS
			(SELECT 1 FROM lanes l WHERE l.run_id = r.id AND l.session = r.session AND l.lane = r.lane)`,
	"what runs is the head, or a command that one of a higher rank came behind": `
		SELECT COUNT(*) FROM runs r WHERE state = 'running' AND lane = 'turn' AND seq IS DISTINCT FROM
			(SELECT MIN(seq) FROM inbox i WHERE i.session = r.session AND i.lane = r.lane)`,
	"held counts the run's messages": `
		SELECT COUNT(*) FROM lanes l LEFT JOIN runs r ON r.id = l.run_id WHERE held != (SELECT COUNT(*) FROM inbox i
			WHERE i.session = l.session AND i.lane = l.lane AND l.run_id IS NOT NULL AND (i.batch = r.seq OR i.joined_run = l.run_id))`,
	"a message is joined to its lane's run, and not a part of it besides": `
		SELECT COUNT(*) FROM inbox i WHERE joined_run IS NOT NULL AND (batch IS NOT NULL OR NOT EXISTS
			(SELECT 1 FROM lanes l WHERE l.run_id = i.joined_run AND l.session = i.session AND l.lane = i.lane))`,
	"a lane is not ready before its head": `
		SELECT COUNT(*) FROM lanes l WHERE ready_at < (SELECT ready_at FROM inbox i
			WHERE i.session = l.session AND i.lane = l.lane ORDER BY seq LIMIT 1)`,
	"a lane tells whose its head is": `
		SELECT COUNT(*) FROM lanes l WHERE queued > 0 AND owner IS DISTINCT FROM (SELECT CASE WHEN authority = 3 THEN 1 ELSE 0 END FROM inbox i
			WHERE i.session = l.session AND i.lane = l.lane ORDER BY seq LIMIT 1)`,
	"what runs is a batch of its own": `
		SELECT COUNT(*) FROM runs r JOIN inbox i ON i.session = r.session AND i.lane = r.lane AND i.seq = r.seq
			WHERE r.state = 'running' AND i.batch IS DISTINCT FROM r.seq`,
	"only what was claimed has a batch": `
		SELECT COUNT(*) FROM inbox WHERE (batch IS NULL) != (attempts = 0)`,
	"a burst has begun": `
		SELECT COUNT(*) FROM inbox WHERE burst > COALESCE(ticket, seq) OR burst = 0`,
	"a number names one message": `
		SELECT COUNT(*) FROM (SELECT 1 FROM inbox GROUP BY session, lane, COALESCE(ticket, seq) HAVING COUNT(*) > 1) AS many`,
	"a burst has one writer": `
		SELECT COUNT(*) FROM (SELECT 1 FROM inbox GROUP BY session, lane, burst HAVING COUNT(DISTINCT share) > 1) AS many`,
	"an event ends once": `
		SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE state IN ('done', 'failed', 'cancelled')
			GROUP BY channel, event_id HAVING COUNT(*) > 1) AS many`,
	"what has ended does not wait": `
		SELECT COUNT(*) FROM inbox i JOIN runs r ON r.channel = i.channel AND r.event_id = i.event_id
			WHERE r.state IN ('done', 'failed', 'cancelled')`,
	"what was accepted waits or has ended": `
		SELECT COUNT(*) FROM dedupe d WHERE kind = 'event'
			AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.channel = d.channel AND i.event_id = d.id)
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.channel = d.channel AND r.event_id = d.id AND r.state IN ('done', 'failed', 'cancelled'))`,
	"an ended run has its time": `
		SELECT COUNT(*) FROM runs WHERE (state = 'running') != (ended_at IS NULL)`,
	"a destination is due exactly when it does not send": `
		SELECT COUNT(*) FROM out_lanes WHERE (sending IS NULL) != (next_at IS NOT NULL)`,
	"a destination's counter is its number of pieces": `
		SELECT COUNT(*) FROM out_lanes l WHERE pending = 0 OR pending !=
			(SELECT COUNT(*) FROM outbox o WHERE o.channel = l.channel AND o.chat = l.chat AND o.thread = l.thread)`,
	"every piece has a destination": `
		SELECT COUNT(*) FROM outbox o WHERE NOT EXISTS
			(SELECT 1 FROM out_lanes l WHERE o.channel = l.channel AND o.chat = l.chat AND o.thread = l.thread)`,
	"what is sent is the head": `
		SELECT COUNT(*) FROM out_lanes l WHERE sending IS NOT NULL AND sending !=
			(SELECT MIN(id) FROM outbox o WHERE o.channel = l.channel AND o.chat = l.chat AND o.thread = l.thread)`,
}
