package outgoing

import (
	"io/fs"
	"time"
)

// Local makes a path that the agent names one relative to the workspace.
func Local(workspace, path string) (string, error) { return local(workspace, path) }

// Version tells a file from a later one of its name.
func Version(info fs.FileInfo) string { return version(info) }

// Hasty has the files of the web of one answer take no longer than that.
func (o *Files) Hasty(most time.Duration) *Files {
	o.webTime = most
	return o
}
