package build

import (
	"encoding/json"
	"runtime/debug"
	"testing"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{
		{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.time", Value: "2026-11-26T02:03:04Z"},
	}
	changed := append(settings[:len(settings):len(settings)], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for name, tc := range map[string]struct {
		version    string
		read       *debug.BuildInfo
		text, json string
	}{
		"a release": {
			"v1.2.3", &debug.BuildInfo{GoVersion: "go1.26.8", Settings: settings},
			"v1.2.3\ncommit 0123abc\nof 2026-11-26T02:03:04Z\nbuilt with go1.26.8",
			`{"version":"v1.2.3","commit":"0123abc","commit_time":"2026-11-26T02:03:04Z","go":"go1.26.8"}`,
		},
		"changed files": {
			"v1.2.3-dirty", &debug.BuildInfo{GoVersion: "go1.26.8", Settings: changed},
			"v1.2.3-dirty\ncommit 0123abc, with changes\nof 2026-11-26T02:03:04Z\nbuilt with go1.26.8",
			`{"version":"v1.2.3-dirty","commit":"0123abc","commit_time":"2026-11-26T02:03:04Z","changed":true,"go":"go1.26.8"}`,
		},
		"an archive of the source": {
			"", &debug.BuildInfo{GoVersion: "go1.26.8"}, "dev\nbuilt with go1.26.8", `{"version":"dev","go":"go1.26.8"}`,
		},
		"nothing": {"v1", nil, "v1", `{"version":"v1","go":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := of(tc.version, tc.read)
			if got := info.String(); got != tc.text {
				t.Errorf("it says\n%s\nwant\n%s", got, tc.text)
			}
			if got, err := json.Marshal(info); err != nil || string(got) != tc.json {
				t.Errorf("as JSON it is %s (%v), want %s", got, err, tc.json)
			}
		})
	}
}

// A test binary knows at least its Go.
func TestRead(t *testing.T) {
	t.Parallel()
	if info := Read("v1"); info.Version != "v1" || info.Go == "" {
		t.Errorf("%+v was read", info)
	}
}
