// Package backup makes archives of what a host keeps, also while it runs, and restores them.
//
// An archive is a compressed tar file: a head, the files, and last a list of them with their sums. It contains the database as it was at
// one moment, and all that the database refers to: files of messages, files of plugins, and Claude's transcripts. What is written
// after that moment may be in it, too. It does not contain the config with its secrets, nor the workspaces, which are the operator's.
package backup

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/store"
)

// format is the number of the archives' format.
const format = 1

// The names in an archive.
const (
	headName  = "clawhost-backup.json"
	listName  = "files.json"
	stateName = "state"  // of what is in the state folder
	claude    = "claude" // of Claude's transcripts, by the label of an agent
	projects  = "projects"

	databaseName = stateName + "/" + store.File
)

// The folders of the state folder that are in an archive.
const (
	mediaFolder   = "media"
	exportsFolder = "exports"
	pluginsFolder = "plugins"
)

// The bounds of an archive that is read.
const (
	maxHead  = 64 << 10
	maxList  = 512 << 20
	maxFiles = 1_000_000
	maxName  = 4096 // bytes
)

// ErrDamaged is returned for an archive that does not read as it was written, or that no clawhost has written.
var ErrDamaged = errors.New("the archive is damaged, or is none of clawhost")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Head says what an archive is of.
type Head struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of clawhost
	Schema  int       `json:"schema"`  // of the database
	Made    time.Time `json:"made"`    // the moment whose state the database has
}

// file is a file of an archive.
type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
}

// list is the end of an archive.
type list struct {
	Files []file `json:"files"`
}

// Part is what an archive has of one kind.
type Part struct {
	Name  string `json:"name"` // database, media, exports, plugin NAME, transcripts
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Summary is what an archive contains.
type Summary struct {
	Head
	Parts []Part `json:"parts"`
}

func (s *Summary) add(name string, size int64) {
	of := partOf(name)
	i := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Name == of })
	if i < 0 {
		i = len(s.Parts)
		s.Parts = append(s.Parts, Part{Name: of})
	}
	s.Parts[i].Files++
	s.Parts[i].Bytes += size
}

func (s *Summary) sort() {
	slices.SortFunc(s.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

func rank(part string) int {
	i := slices.Index([]string{"database", "media", "exports", "transcripts"}, part)
	if i < 0 {
		return 10
	}
	return i
}

// partOf returns the part that a file belongs to.
func partOf(name string) string {
	parts := strings.Split(name, "/")
	switch {
	case name == databaseName:
		return "database"
	case parts[0] == claude:
		return "transcripts"
	case parts[1] == pluginsFolder:
		return "plugin " + parts[2]
	}
	return parts[1]
}

// checkName refuses a name that no archive has: one that leads out of its folder, or is not in one of those that are kept.
func checkName(name string) error {
	clean := len(name) <= maxName && path.Clean(name) == name && !path.IsAbs(name) && !strings.ContainsAny(name, "\\\x00") &&
		!strings.HasPrefix(name, "../")
	parts := strings.Split(name, "/")
	switch {
	case !clean:
	case name == databaseName:
		return nil
	case len(parts) >= 3 && parts[0] == stateName && (parts[1] == mediaFolder || parts[1] == exportsFolder):
		return nil
	case len(parts) >= 4 && parts[0] == stateName && parts[1] == pluginsFolder:
		return nil
	case len(parts) >= 5 && parts[0] == claude && parts[2] == projects:
		if id, _ := strings.CutSuffix(parts[4], transcriptEnd); uuid.Validate(id) == nil {
			return nil
		}
	}
	return damaged("the name %q does not belong there", name)
}
