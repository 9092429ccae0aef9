package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/store/sqlite"
)

// idFile is the file of the state folder with its id.
const idFile = "host.id"

// takeFolder gives this process exclusive use of a state folder whose database is elsewhere, and returns an id by which the next process of
// the folder knows that this one has ended. A copy of the folder on another machine, or after the machine's next start, has another id.
func takeFolder(ctx context.Context, dir string) (lock io.Closer, id string, err error) {
	if lock, err = sqlite.Lock(ctx, filepath.Join(dir, File)); err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, idFile)
	text, err := os.ReadFile(path)
	if id = strings.TrimSpace(string(text)); errors.Is(err, fs.ErrNotExist) || err == nil && id == "" {
		id = uuid.NewString()
		err = os.WriteFile(path, []byte(id+"\n"), 0o600)
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("read the id of the state folder: %w", err), lock.Close())
	}
	return lock, id + " " + process.BootID(), nil
}
