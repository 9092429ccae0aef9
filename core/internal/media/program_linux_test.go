package media_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/process"
)

// leaving is a shell command that starts a process which leaves the program's tree and session and has none of its environment.
const leaving = `(env -i setsid /bin/sh -c '/usr/bin/setsid /bin/sh -c "echo \$\$ > $1; exec /bin/sleep 1000" sh "$1" &' sh "$1" &)
until [ -s "$1" ]; do :; done`

// What a program starts ends with it, whatever the program is for, and even if it has left the program's tree and session.
// Behaviour: media-programs.
func TestWhatAProgramStartsEndsWithIt(t *testing.T) {
	t.Parallel()
	for name := range leavers {
		for _, end := range []string{"returns", "is killed"} {
			t.Run(name+" "+end, func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLeaver$")
				cmd.Env = append(os.Environ(), leaverVariable+"="+name, "LEAVER_END="+end, "LEAVER_PID="+filepath.Join(t.TempDir(), "pid"))
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
					t.Fatalf("%v\n%s", err, out)
				}
			})
		}
	}
}

// leaverVariable names the program that the test binary runs as a host that adopts processes, which must have no others.
const leaverVariable = "LEAVER"

// leavers have a program run.
var leavers = map[string]func(t *testing.T, family *process.Family, command []string){
	"transcribe": func(t *testing.T, family *process.Family, command []string) {
		r := setupReading(t)
		r.options.Family, r.options.Transcriber, r.options.TranscribeTimeout = family, media.NewTranscriber(append(command, "{file}")), hasty()
		heard(t, r.reader(), r.voice(t, "hello"))
	},
	"links": func(t *testing.T, family *process.Family, command []string) {
		r := setupReading(t)
		r.options.Family, r.options.Links, r.options.LinksTimeout = family, append(command, "{url}"), hasty()
		q := domain.Queued{UUID: run, Message: domain.Message{Text: "https://93.184.216.34/"}}
		if _, err := r.reader().Read(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	},
	"speak": func(t *testing.T, family *process.Family, command []string) {
		b := setup(t)
		speaker := media.NewSpeaker(b.Files, append(command, "{out}"), hasty(), t.TempDir(), family)
		_, _ = speaker.Speak(t.Context(), spoken, "hello", sounding) // no sound
	},
}

// hasty is the time that a program gets.
func hasty() time.Duration {
	if os.Getenv("LEAVER_END") == "returns" {
		return patience
	}
	return time.Second
}

func TestLeaver(t *testing.T) {
	run := leavers[os.Getenv(leaverVariable)]
	if run == nil {
		return // it runs in a process of its own
	}
	var children process.Children
	if err := children.Adopt(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reaped := make(chan struct{})
	go func() { children.Reap(ctx); close(reaped) }()
	defer func() { cancel(); <-reaped }()
	line := leaving
	if os.Getenv("LEAVER_END") == "is killed" {
		line += "\nexec sleep 1000"
	}
	path := os.Getenv("LEAVER_PID")
	family := process.NewFamily(&children, process.Marks{Host: "HOST", Name: "NAME"}, "1")
	run(t, family, []string{"sh", "-c", line, "sh", path})
	pid := pidIn(t, path)
	if _, err := process.StartTime(pid); err == nil {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("process %d is left: %q", pid, cmdline)
		_ = process.KillGroup(pid)
	}
}
