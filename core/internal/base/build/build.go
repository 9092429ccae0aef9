// Package build says from what the running binary was built.
package build

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"
)

// Info is what is known about a build. All but Version and Go is empty if the binary was built without git, such as from an
// archive of the source.
type Info struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit,omitempty"`
	Time    time.Time `json:"commit_time,omitzero"`
	Changed bool      `json:"changed,omitempty"` // there were changes that were not committed
	Go      string    `json:"go"`
}

// Read returns what is known about this binary, to which its Makefile has given the version.
func Read(version string) Info {
	info, _ := debug.ReadBuildInfo()
	return of(version, info)
}

// of returns what a binary knows about its build; nil: nothing.
func of(version string, read *debug.BuildInfo) Info {
	info := Info{Version: cmp.Or(version, "dev")}
	if read == nil {
		return info
	}
	info.Go = read.GoVersion
	for _, s := range read.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.time":
			info.Time, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			info.Changed = s.Value == "true"
		}
	}
	return info
}

// String is what `clawhost version` prints, without the program's name.
func (i Info) String() string {
	text := i.Version
	if i.Commit != "" {
		text += fmt.Sprintf("\ncommit %s", i.Commit)
		if i.Changed {
			text += ", with changes"
		}
		text += fmt.Sprintf("\nof %s", i.Time.UTC().Format(time.RFC3339))
	}
	if i.Go != "" {
		text += "\nbuilt with " + i.Go
	}
	return text
}
