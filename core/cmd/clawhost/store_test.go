package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/copying"
)

// A long copy says from time to time how far it is, and of each table what it has.
func TestProgressOfACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, said bytes.Buffer
		p := &copyProgress{app: &app{out: &out, err: &said}, due: time.Now().Add(progressPause)}
		p.Copied("inbox", 10)
		time.Sleep(progressPause + 1)
		p.Copied("inbox", 20)
		p.Copied("inbox", 30)
		time.Sleep(progressPause + 1)
		p.Compared("inbox", 20)
		if want := "inbox: 20 rows copied …\ninbox: 20 rows compared …\n"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
		p.Same(copying.Table{Name: "inbox", Rows: 30, Digest: "0123456789abcdef0123", Replaced: 2})
		if want := "  inbox                       30 rows, SHA-256 0123456789abcdef…; U+FFFD was put into 2 texts\n"; out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	})
}
