package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/clawhost/clawhost/sdk"
)

// Forget implements [sdk.Forgetter]: it removes the indexes of all agents. They are made again from the files and conversations that are
// left, and only that is certain to have no words of the person in them. Without read_transcripts, what was indexed of others'
// conversations is lost with them.
func (config) Forget(_ context.Context, p sdk.Person) (left []string, err error) {
	err = os.RemoveAll(filepath.Join(p.StateDir, agentsFolder))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(p.StateDir, indexFile+suffix)))
	}
	return []string{"Files that the agent wrote, such as MEMORY.md and those in memory/, are not the plugin's: edit what they have of the person."}, err
}
