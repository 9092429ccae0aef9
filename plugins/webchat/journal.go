package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of the journal; the oldest messages are removed first. Messages that the host does not have yet have a limit of
// their own.
const (
	maxRecords = 4000
	maxBytes   = 8 << 20
	maxFile    = 8 * maxBytes // JSON writes a control character as six bytes
	maxWaiting = 100
)

// journalFile is the journal's name in the state folder.
const journalFile = "messages.jsonl"

var (
	// errNoMessage is returned for a message that is not in the journal.
	errNoMessage = errors.New("no such message")
	// errTooMany is returned while too many messages wait for the host.
	errTooMany = errors.New("too many messages wait for the host")
)

// journal stores the conversations: a file of JSON lines with a mirror in memory. A change is on disk before the method
// returns. A changed message is written again; when the file is loaded its last line counts.
type journal struct {
	changed *broadcast

	mu      sync.Mutex
	lines   *lines
	records []record // by Seq
	byID    map[chat.MessageID]int64
	byKey   map[string]int64
	threads map[chat.ThreadID]conversation
	listed  int64 // the revision of the latest change of a conversation
	bytes   int
	rev     int64
}

// line is a line of the file: a message, the state of a conversation, or, with neither, only the revision.
type line struct {
	record
	Conversation *conversation `json:"conversation,omitempty"`
}

// openJournal loads or creates the journal at path. Damaged is the number of unreadable lines; they are skipped.
func openJournal(path string, changed *broadcast) (j *journal, damaged int, err error) {
	j = &journal{
		changed: changed,
		byID:    make(map[chat.MessageID]int64),
		byKey:   make(map[string]int64),
		threads: map[chat.ThreadID]conversation{"": {Title: firstTitle}},
	}
	latest := make(map[int64]record)
	j.lines, err = openLines(path, func(raw []byte) {
		if !j.load(raw, latest) {
			damaged++
		}
	})
	if err != nil {
		return nil, 0, fmt.Errorf("open journal: %w", err)
	}
	for _, r := range latest {
		j.records = append(j.records, r)
	}
	slices.SortFunc(j.records, func(a, b record) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, r := range j.records {
		j.gain(r)
		if _, ok := j.threads[r.Thread]; !ok {
			// The line that created it is damaged.
			j.threads[r.Thread] = conversation{ID: r.Thread, Title: laterTitle, Began: r.At}
		}
	}
	if err := j.trim(); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("load journal: %w", err), j.lines.close())
	}
	return j, damaged, nil
}

// load loads a line, and reports whether it is valid.
func (j *journal) load(raw []byte, latest map[int64]record) bool {
	var l line
	if json.Unmarshal(raw, &l) != nil || l.Seq < 0 || l.Rev < max(l.Seq, 1) {
		return false
	}
	j.rev = max(j.rev, l.Rev)
	switch c := l.Conversation; {
	case c == nil && l.Seq > 0:
		latest[l.Seq] = l.record
	case c == nil:
	case !c.Deleted:
		j.threads[c.ID] = *c
	default:
		delete(j.threads, c.ID)
		for seq, r := range latest {
			if r.Thread == c.ID {
				delete(latest, seq)
			}
		}
	}
	return true
}

// say appends the user's message with the id from the page, and creates its conversation. A repeated id changes nothing.
func (j *journal) say(r record) (_ record, added bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i, ok := j.find(j.byID[r.ID]); ok {
		return j.records[i], false, nil
	}
	if len(j.pending()) >= maxWaiting {
		return record{}, false, errTooMany
	}
	r.From, r.State = user, pending
	return j.add(r)
}

// answer appends the agent's message and assigns its id. A repeated key changes nothing.
func (j *journal) answer(r record) (_ record, added bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i, ok := j.find(j.byKey[r.Key]); ok && r.Key != "" {
		return j.records[i], false, nil
	}
	r.From = agent
	return j.add(r)
}

func (j *journal) add(r record) (record, bool, error) {
	begun, err := j.begin(r)
	if err != nil {
		return record{}, false, err
	}
	r.Rev = j.rev + int64(len(begun)) + 1
	r.Seq = r.Rev
	if r.From == agent {
		r.ID = chat.MessageID(fmt.Sprintf("m%d", r.Seq))
	}
	if err := j.write(append(begun, line{record: r})...); err != nil {
		return record{}, false, err
	}
	for _, l := range begun {
		j.apply(*l.Conversation)
		j.listed = l.Rev
	}
	j.records = append(j.records, r)
	j.gain(r)
	if err := j.trim(); err != nil {
		return record{}, false, err
	}
	j.changed.notify()
	return r, true, nil
}

// update changes a message, unless change returns an error.
func (j *journal) update(id chat.MessageID, change func(*record) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.find(j.byID[id])
	if !ok {
		return errNoMessage
	}
	r := j.records[i]
	if err := change(&r); err != nil {
		return err
	}
	r.Rev = j.rev + 1
	if err := j.write(line{record: r}); err != nil {
		return err
	}
	j.bytes += r.size() - j.records[i].size()
	j.records[i] = r
	if err := j.trim(); err != nil {
		return err
	}
	j.changed.notify()
	return nil
}

// get returns a message by its id.
func (j *journal) get(id chat.MessageID) (record, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i, ok := j.find(j.byID[id]); ok {
		return j.records[i], true
	}
	return record{}, false
}

// file returns a file of one of the messages.
func (j *journal) file(ref chat.MediaRef) (file, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range slices.Backward(j.records) {
		for _, f := range r.Files {
			if f.Ref == ref && !r.Deleted {
				return f, true
			}
		}
	}
	return file{}, false
}

// since returns the oldest changes above a revision, up to limit of them, in their order.
func (j *journal) since(rev int64, limit int) []record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var changes []record
	for _, r := range j.records {
		if r.Rev > rev {
			changes = append(changes, r)
		}
	}
	slices.SortFunc(changes, func(a, b record) int { return cmp.Compare(a.Rev, b.Rev) })
	return changes[:min(limit, len(changes))]
}

// before returns up to limit of a conversation's newest messages whose Seq is below seq, oldest first; zero means the
// newest of all. More reports whether there are older ones.
func (j *journal) before(thread chat.ThreadID, seq int64, limit int) (page []record, more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end := len(j.records)
	if seq > 0 {
		end, _ = j.search(seq)
	}
	for _, r := range slices.Backward(j.records[:end]) {
		if r.Thread != thread {
			continue
		}
		if len(page) == limit {
			more = true
			break
		}
		page = append(page, r)
	}
	slices.Reverse(page)
	return page, more
}

// last returns the journal's revision.
func (j *journal) last() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rev
}

// waiting returns the user's messages that the host does not have yet, oldest first.
func (j *journal) waiting() []record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pending()
}

func (j *journal) pending() []record {
	var found []record
	for _, r := range j.records {
		if r.State == pending {
			found = append(found, r)
		}
	}
	return found
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines.close()
}

func (j *journal) search(seq int64) (int, bool) {
	return slices.BinarySearchFunc(j.records, seq, func(r record, seq int64) int { return cmp.Compare(r.Seq, seq) })
}

// find returns the index of a message in records. No message has Seq zero.
func (j *journal) find(seq int64) (int, bool) {
	if seq == 0 {
		return 0, false
	}
	return j.search(seq)
}

// gain and lose update the indexes when a record is added to memory or removed.
func (j *journal) gain(r record) {
	j.byID[r.ID] = r.Seq
	if r.Key != "" {
		j.byKey[r.Key] = r.Seq
	}
	j.bytes += r.size()
}

func (j *journal) lose(r record) {
	delete(j.byID, r.ID)
	delete(j.byKey, r.Key)
	j.bytes -= r.size()
}

// write appends lines and takes the last one's revision.
func (j *journal) write(added ...line) error {
	encoded, err := encode(added)
	if err != nil {
		return err
	}
	if err := j.lines.append(encoded...); err != nil {
		return err
	}
	j.rev = added[len(added)-1].Rev
	return nil
}

func encode(all []line) ([][]byte, error) {
	encoded := make([][]byte, 0, len(all))
	for _, l := range all {
		raw, err := json.Marshal(l)
		if err != nil {
			return nil, fmt.Errorf("write journal: %w", err)
		}
		encoded = append(encoded, raw)
	}
	return encoded, nil
}

// trim deletes the oldest messages beyond the limits, except those that wait for the host, and rewrites the file when most
// of its lines are obsolete.
func (j *journal) trim() error {
	drop := 0
	for left := len(j.records); left > maxRecords || (j.bytes > maxBytes && left > 1); left-- {
		r := j.records[drop]
		if r.State == pending {
			break
		}
		j.lose(r)
		drop++
	}
	j.records = slices.Delete(j.records, 0, drop)
	if j.lines.count < 2*len(j.records)+1000 && j.lines.size < maxFile {
		return nil
	}
	return j.compact()
}

// compact rewrites the file with each conversation and each message once. Its first line stores the revision, which may be
// that of a deleted message, so that it is not used again.
func (j *journal) compact() error {
	all := []line{{record: record{Rev: j.rev}}}
	for _, c := range j.threads {
		all = append(all, line{record: record{Rev: j.rev}, Conversation: &c})
	}
	for _, r := range j.records {
		all = append(all, line{record: r})
	}
	encoded, err := encode(all)
	if err != nil {
		return err
	}
	return j.lines.replace(encoded)
}
