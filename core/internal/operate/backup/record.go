package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// recordName is the file of the state folder that says which archives were made.
const recordName = "backups.json"

// maxRecords is how many archives are recorded, the newest ones.
const maxRecords = 1000

// Record is an archive that was made of a state.
type Record struct {
	Path string    `json:"path"` // when it was written; empty: it went to the output
	Made time.Time `json:"made"`
}

// Remember records an archive, so that people learn later what else holds what they had removed.
func Remember(stateDir string, r Record) error {
	all, err := Records(stateDir)
	if err != nil {
		return err
	}
	all = append(all, r)
	text, err := json.MarshalIndent(all[max(0, len(all)-maxRecords):], "", " ")
	if err != nil {
		return err
	}
	name := filepath.Join(stateDir, recordName)
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return fmt.Errorf("record the backup: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("record the backup: %w", err)
	}
	return nil
}

// Records returns the archives that were made of a state and are recorded, the oldest first.
func Records(stateDir string) (all []Record, err error) {
	text, err := os.ReadFile(filepath.Join(stateDir, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read which backups were made: %w", err)
	}
	return all, nil
}
