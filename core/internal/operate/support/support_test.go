package support

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of a line of the log the words of the host remain, numbers that count something, and pseudonyms that stand for the same each time.
// Behaviour: support.
func TestLog(t *testing.T) {
	t.Parallel()
	d := newDisguise([]string{"telegram", "ann-bot"})
	for _, c := range []struct{ module, message, want string }{
		{"turn", "a turn begins: session=telegram:1001 run=7 attempt=1 by=telegram:1001", "[info] turn: a turn begins attempt=1 by=person-1 run=7 session=session-1"},
		{"turn", "a turn begins: session=telegram:1001 run=8 attempt=1 by=telegram:1001", "[info] turn: a turn begins attempt=1 by=person-1 run=8 session=session-1"},
		{"turn", "a turn begins: session=telegram:7 run=8 attempt=1 by=telegram:1002", "[info] turn: a turn begins attempt=1 by=person-2 run=8 session=session-2"},
		{"outbox", `an item was not sent and is tried again: channel=telegram item=1 chat=42 again_in=1m0s error="open \"/home/ann/hello you.pdf\": no such file or directory"`, "[info] outbox: an item was not sent and is tried again again_in=1m0s channel=telegram chat=chat-1 error=(open … no such file or directory) item=1"},
		{"turn", "a turn failed: class=died\n  error=\n  | Ann scrawled 'hello'\n  | exit status 3\n  ", "[info] turn: a turn failed class=(died) error=(… exit status 3)"},
		{"turn", "a turn failed: run=7 by=telegram:1001 token=4242:scripts-loopback", "[info] turn: a turn failed by=person-1 run=7 token=token-1"},
		{"ann-bot", "hello from a plugin: text=hello", "[info] plugin-1: …"},
		{"telegram", "the connection is in trouble: state=disconnected detail=\"Post https://api.telegram.org/bot42:AA/getMe: connection refused\"", "[info] telegram: the connection is in trouble detail=(… connection refused) state=(disconnected)"},
		{"", `config.hcl:3:4: Owner Ann is unknown; "ann" is nobody's`, "…"},
	} {
		raw := map[string]string{"time": "2026-11-26T16:46:47.248Z", "level": "info", "module": "clawhost." + c.module, "message": c.message}
		if c.module == "" {
			raw["module"] = "clawhost"
		}
		got := strings.TrimPrefix(d.line(encode(t, raw)), "2026-11-26T16:46:47.248Z ")
		if c.want == "…" {
			if strings.Contains(strings.ToLower(got), "ann") || !strings.Contains(got, "…") {
				t.Errorf("%q is %q", c.message, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%q is\n%s, want\n%s", c.message, got, c.want)
		}
	}
	if got := d.line("Ann says hello"); got != gap {
		t.Errorf("what is no line is %q", got)
	}
}

// Of a config the names remain, numbers, and the values that the manual has.
// Behaviour: support.
func TestConfig(t *testing.T) {
	t.Parallel()
	d := newDisguise([]string{"telegram", "ann-bot"})
	got := d.configOf([]byte(`# Ann's
state_dir = "/home/ann"
log {
  level = "debug"
}
claude {
  timeout     = "15m"
  recycle_at  = 12
  env         = { ANN = "x" }
  permission_mode = "${"ann"}"
}
access {
  owners = ["telegram:1001"]
  group "-100777" {}
}
plugin "ann-bot" {
  enabled = true
  config {
    level = "debug"
    pin   = 1234
    user "ann" {
      token = env("ANN_TOKEN")
    }
  }
}
`))
	want := `state_dir = string
log {
  level = "debug"
}
claude {
  timeout = "15m"
  recycle_at = 12
  env = map of 1
  permission_mode = string
}
access {
  owners = list of 1
  group "group-1" {
  }
}
plugin "plugin-1" {
  enabled = true
  config {
    level = string
    pin = number
    user "user-1" {
      token = from outside
    }
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := d.configOf([]byte("agent { name = ")); got != "The file cannot be read.\n" {
		t.Errorf("a file that is wrong: %q", got)
	}
}

// Stacks and profiles have the names of functions, and files without their folders.
// Behaviour: support.
func TestProfiles(t *testing.T) {
	t.Parallel()
	var stacks, heap bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		t.Fatal(err)
	}
	got := goroutines(stacks.String())
	if strings.Contains(got, gap) || !strings.Contains(got, "support.TestProfiles(") || !strings.Contains(got, "\tsupport_test.go:") || strings.Contains(got, "\t/") {
		t.Errorf("stacks:\n%s", got)
	}
	if got := goroutines("Ann wrote hello\ngoroutine 7 [running]:\nmain.f({\"Ann\", 3})\n\t/home/ann/x.go:3 +0x1f\n"); got != "…\ngoroutine 7 [running]:\n…\n\tx.go:3 +0x1f\n" {
		t.Errorf("stacks with texts: %q", got)
	}
	if err := pprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		t.Fatal(err)
	}
	packed, err := profile(heap.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(unpack)
	if err != nil || !bytes.Contains(raw, []byte("runtime.")) || bytes.Contains(raw, []byte("/src/")) {
		t.Errorf("a profile of %d bytes, %v", len(raw), err)
	}
	for name, bad := range map[string][]byte{"no archive": []byte("hello"), "cut": heap.Bytes()[:heap.Len()/2]} {
		if _, err := profile(bad); err == nil {
			t.Errorf("%s is a profile", name)
		}
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
