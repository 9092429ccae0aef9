package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Forget implements [sdk.Forgetter]: if the person is the one who sits at the page, all conversations are deleted.
func (config) Forget(_ context.Context, p sdk.Person) (left []string, err error) {
	path := filepath.Join(p.StateDir, journalFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || len(p.Own()) == 0 {
		return nil, nil
	}
	kept, _, err := openJournal(path, newBroadcast())
	if err != nil {
		return nil, err
	}
	return []string{"Their browser keeps drafts and messages that it could not send: delete the page's data there."}, errors.Join(kept.clear(), kept.close())
}

// clear deletes all messages and conversations, and writes the file again. The revision goes on, so that a page that is open notices.
func (j *journal) clear() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records, j.bytes = nil, 0
	clear(j.byID)
	clear(j.byKey)
	j.threads = map[chat.ThreadID]conversation{"": {Title: firstTitle}}
	return j.compact()
}
