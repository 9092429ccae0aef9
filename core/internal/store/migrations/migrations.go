// Package migrations has the schema of the store: numbered SQL files, each of which runs once. A released file never changes.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// Files returns the steps from an empty database to the current schema, in the order of the numbers at the beginning of their
// names: 1, 2, 3 and so on.
func Files() fs.FS { return files }
