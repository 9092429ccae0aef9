package program_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/sdk/chat"
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
		_, _ = transcribe(t, family, append(command, "{file}"), hasty())
	},
	"links": func(t *testing.T, family *process.Family, command []string) {
		_, _ = link(t, family, append(command, "{url}"), hasty())
	},
	"speak": func(t *testing.T, family *process.Family, command []string) {
		_ = speak(t, family, append(command, "{out}"), hasty()) // no sound
	},
}

func transcribe(t *testing.T, family *process.Family, command []string, timeout time.Duration) (domain.Extract, error) {
	b := mediatest.Setup(t)
	voice := b.Stored(t, chat.Media{Kind: chat.Voice}, []byte(mediatest.Opus))
	programs := program.Runner{Dir: t.TempDir(), Family: family}
	return speech.NewTranscriber(speech.NewMethod(command), b.Store, programs, timeout).Transcribe(t.Context(), "telegram", voice)
}

func link(t *testing.T, family *process.Family, command []string, timeout time.Duration) (domain.Extract, error) {
	return web.NewPages(web.Options{
		Fetcher: web.NewFetcher(web.NewGuard()), Programs: program.Runner{Dir: t.TempDir(), Family: family}, Command: command, Timeout: timeout,
	}, hclog.NewNullLogger()).Read(t.Context(), "https://93.184.216.34/")
}

func speak(t *testing.T, family *process.Family, command []string, timeout time.Duration) error {
	speaker := speech.NewSpeaker(mediatest.Setup(t).Store, program.Runner{Dir: t.TempDir(), Family: family}, command, timeout)
	_, err := speaker.Speak(t.Context(), domain.Message{Channel: "telegram"}, "hello", []chat.MediaLimit{{Kind: chat.Voice}})
	return err
}

// hasty is the time that a program gets.
func hasty() time.Duration {
	if os.Getenv("LEAVER_END") == "returns" {
		return mediatest.Patience
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
	pid := mediatest.PID(t, path)
	if _, err := process.StartTime(pid); err == nil {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("process %d is left: %q", pid, cmdline)
		_ = process.KillGroup(pid)
	}
}

// What a program says of its failure is in the error, for the log, without what looks like a credential.
// Behaviour: media-programs.
func TestAProgramsComplaint(t *testing.T) {
	t.Parallel()
	const secret = "p4ssw0rdXYZ12"
	complain := []string{"sh", "-c", "echo cannot log in at https://user:" + secret + "@proxy.example/ >&2; exit 1", "sh"}
	_, transcribed := transcribe(t, nil, append(complain, "{file}"), mediatest.Patience)
	_, linked := link(t, nil, append(complain, "{url}"), mediatest.Patience)
	spoken := speak(t, nil, append(complain, "{out}"), mediatest.Patience)
	for name, err := range map[string]error{"transcribe": transcribed, "links": linked, "speak": spoken} {
		if err == nil || !strings.Contains(err.Error(), "cannot log in") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
