package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/clawhost/clawhost/sdk/chat"
)

// How much is kept of the conversation, the oldest messages going first, and how much of what the host has not taken yet.
const (
	maxRecords = 2000
	maxBytes   = 8 << 20
	maxFile    = 8 * maxBytes // JSON writes a control character as six bytes
	maxWaiting = 100
)

var (
	// errNoMessage is returned for a message that is not in the journal, or no longer.
	errNoMessage = errors.New("no such message")
	// errTooMany is returned while too many messages wait for the host.
	errTooMany = errors.New("too many messages wait for the host")
)

// journal is the conversation: a file of JSON lines with a mirror in memory. A change is on disk before the method that
// made it returns. A message that changes is written again; when the file is loaded its last line counts.
type journal struct {
	changed *broadcast
	path    string

	mu      sync.Mutex
	file    *os.File
	size    int64 // of the file up to the end of its last whole line
	torn    bool  // something may stand behind size
	lines   int
	records []record // by Seq
	byID    map[chat.MessageID]int64
	byKey   map[string]int64
	bytes   int
	rev     int64
}

// openJournal loads the journal at path, or begins one. Damaged is how many lines could not be read; they are left out.
func openJournal(path string, changed *broadcast) (j *journal, damaged int, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open journal: %w", err)
	}
	j = &journal{
		changed: changed,
		path:    path,
		file:    file,
		byID:    make(map[chat.MessageID]int64),
		byKey:   make(map[string]int64),
	}
	if damaged, err = j.load(); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("load journal: %w", err), file.Close())
	}
	return j, damaged, nil
}

// load reads the file up to its last line feed; what stands behind is a line that no one was told of.
func (j *journal) load() (damaged int, err error) {
	latest := make(map[int64]record)
	for r := bufio.NewReader(j.file); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			j.torn = len(line) > 0
			break
		}
		if err != nil {
			return 0, err
		}
		j.size += int64(len(line))
		j.lines++
		var rec record
		if json.Unmarshal(line, &rec) != nil || rec.Seq < 0 || rec.Rev < max(rec.Seq, 1) {
			damaged++
			continue
		}
		j.rev = max(j.rev, rec.Rev)
		if rec.Seq > 0 {
			latest[rec.Seq] = rec
		}
	}
	for _, rec := range latest {
		j.records = append(j.records, rec)
	}
	slices.SortFunc(j.records, func(a, b record) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, rec := range j.records {
		j.byID[rec.ID] = rec.Seq
		if rec.Key != "" {
			j.byKey[rec.Key] = rec.Seq
		}
		j.bytes += rec.size()
	}
	return damaged, j.trim()
}

// say appends what the user says under the id that the page gave it. The same id again changes nothing.
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

// answer appends what the agent says and mints its id. The same key again changes nothing.
func (j *journal) answer(r record) (_ record, added bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i, ok := j.find(j.byKey[r.Key]); ok && r.Key != "" {
		return j.records[i], false, nil
	}
	r.From = agent
	r.ID = chat.MessageID(fmt.Sprintf("m%d", j.rev+1))
	return j.add(r)
}

func (j *journal) add(r record) (record, bool, error) {
	r.Rev = j.rev + 1
	r.Seq = r.Rev
	if err := j.write(r); err != nil {
		return record{}, false, err
	}
	j.records = append(j.records, r)
	j.byID[r.ID] = r.Seq
	if r.Key != "" {
		j.byKey[r.Key] = r.Seq
	}
	j.bytes += r.size()
	if err := j.trim(); err != nil {
		return record{}, false, err
	}
	j.changed.notify()
	return r, true, nil
}

// update changes a message.
func (j *journal) update(id chat.MessageID, change func(*record)) (record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.find(j.byID[id])
	if !ok {
		return record{}, errNoMessage
	}
	r := j.records[i]
	change(&r)
	r.Rev = j.rev + 1
	if err := j.write(r); err != nil {
		return record{}, err
	}
	j.bytes += r.size() - j.records[i].size()
	j.records[i] = r
	if err := j.trim(); err != nil {
		return record{}, err
	}
	j.changed.notify()
	return r, nil
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

// before returns up to limit of the newest messages whose Seq is below seq, oldest first; zero means the newest of all.
// More tells whether there are older ones, and last is the journal's revision.
func (j *journal) before(seq int64, limit int) (page []record, more bool, last int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end := len(j.records)
	if seq > 0 {
		end, _ = j.search(seq)
	}
	start := max(0, end-limit)
	return slices.Clone(j.records[start:end]), start > 0, j.rev
}

// waiting returns the user's messages that the host does not have yet, oldest first.
func (j *journal) waiting() []record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pending()
}

func (j *journal) pending() []record {
	var waiting []record
	for _, r := range j.records {
		if r.State == pending {
			waiting = append(waiting, r)
		}
	}
	return waiting
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}

func (j *journal) search(seq int64) (int, bool) {
	return slices.BinarySearchFunc(j.records, seq, func(r record, seq int64) int { return cmp.Compare(r.Seq, seq) })
}

// find returns the place of a message in records. No message has Seq zero.
func (j *journal) find(seq int64) (int, bool) {
	if seq == 0 {
		return 0, false
	}
	return j.search(seq)
}

// write appends a line and takes its revision. A line that was not written whole is cut off before the next one.
func (j *journal) write(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	line = append(line, '\n')
	if j.torn {
		if err := j.file.Truncate(j.size); err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
	}
	j.torn = true
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	j.torn = false
	j.size += int64(len(line))
	j.lines++
	j.rev = r.Rev
	return nil
}

// trim forgets the oldest messages beyond the limits, but none that waits for the host, and writes the file anew once
// most of its lines are of no use any more.
func (j *journal) trim() error {
	drop := 0
	for left, bytes := len(j.records), j.bytes; left > maxRecords || (bytes > maxBytes && left > 1); left-- {
		r := j.records[drop]
		if r.State == pending {
			break
		}
		delete(j.byID, r.ID)
		delete(j.byKey, r.Key)
		bytes -= r.size()
		j.bytes = bytes
		drop++
	}
	j.records = slices.Delete(j.records, 0, drop)
	if j.lines < 2*len(j.records)+1000 && j.size < maxFile {
		return nil
	}
	return j.compact()
}

// compact replaces the file by one that holds each message once. Its first line is no message: it keeps the revision,
// which may be that of a message forgotten since, from being used again.
func (j *journal) compact() error {
	var all bytes.Buffer
	for _, r := range slices.Concat([]record{{Rev: j.rev}}, j.records) {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("compact journal: %w", err)
		}
		all.Write(line)
		all.WriteByte('\n')
	}
	file, err := replaceFile(j.path, all.Bytes())
	if err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	old := j.file
	j.file, j.size, j.lines, j.torn = file, int64(all.Len()), len(j.records)+1, false
	if err := old.Close(); err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	return nil
}

// replaceFile puts a new file (0600) in the place of path, on disk with all its bytes, and returns it open.
func replaceFile(path string, content []byte) (_ *os.File, err error) {
	next := path + ".new"
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if _, err := file.Write(content); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if err := os.Rename(next, path); err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return file, errors.Join(dir.Sync(), dir.Close())
}
