package store_test

// invariants are queries that find rows which must not be.
var invariants = map[string]string{
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
	"what runs is the head": `
		SELECT COUNT(*) FROM runs r WHERE state = 'running' AND seq IS NOT
			(SELECT MIN(seq) FROM inbox i WHERE i.session = r.session AND i.lane = r.lane)`,
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
