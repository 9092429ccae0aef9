package claude_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// terminal is a person's claude that has a session open.
type terminal struct {
	*testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// opens opens the rig's session in a terminal.
func (r *rig) opens() *terminal {
	r.Helper()
	t := &terminal{T: r.T, cmd: exec.Command(r.config.Command, "-p", "--resume", r.session, "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")}
	t.cmd.Dir, t.cmd.Stderr = r.config.Workspace, os.Stderr
	t.cmd.Env = append(os.Environ(), "CLAUDE_STUB_ENTRYPOINT=cli")
	for name, value := range r.config.Env {
		t.cmd.Env = append(t.cmd.Env, name+"="+value)
	}
	out, err := t.cmd.StdoutPipe()
	if err == nil {
		t.in, err = t.cmd.StdinPipe()
	}
	if err == nil {
		err = t.cmd.Start()
	}
	if err != nil {
		r.Fatal(err)
	}
	t.lines = bufio.NewScanner(out)
	t.lines.Buffer(nil, 16<<20)
	t.write(map[string]any{"type": "control_request", "request_id": "1", "request": map[string]any{"subtype": "initialize"}})
	t.until("control_response")
	return t
}

func (t *terminal) write(line any) {
	t.Helper()
	data, err := json.Marshal(line)
	if err == nil {
		_, err = t.in.Write(append(data, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// until returns the next event of a type.
func (t *terminal) until(kind string) map[string]any {
	t.Helper()
	for t.lines.Scan() {
		var e map[string]any
		if json.Unmarshal(t.lines.Bytes(), &e) == nil && e["type"] == kind {
			return e
		}
	}
	t.Fatalf("the terminal ended without %s: %v", kind, t.lines.Err())
	return nil
}

// says writes a message and returns the answer.
func (t *terminal) says(text string) string {
	t.Helper()
	t.write(map[string]any{"type": "user", "uuid": uuid.NewString(), "message": map[string]any{"role": "user", "content": text}})
	return fmt.Sprint(t.until("result")["result"])
}

// closes ends the terminal: in order, or by a kill, which leaves the file that says that it has the session open.
func (t *terminal) closes(killed bool) {
	t.Helper()
	if killed {
		_ = t.cmd.Process.Kill()
	}
	_ = t.in.Close()
	if err := t.cmd.Wait(); err != nil && !killed {
		t.Error(err)
	}
}

// opened fails unless a turn failed because another process has the session open.
func opened(t *testing.T, err error) {
	t.Helper()
	var failure *agent.Failure
	if !errors.As(err, &failure) || failure.Class != agent.Opened {
		t.Fatalf("with the session open in a terminal: %v", err)
	}
}

const history = `[[stub {"say": "$HISTORY"}]] `

// A turn begins in no session that another process has open. When it is closed, Claude knows what was said there.
// Behaviour: session-open, session-taken-back.
func TestASessionInATerminal(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		r.ask(pool, r.turn("apricot"))
		desk := r.opens()
		_, err := pool.Run(t.Context(), r.turn("blueberry"))
		opened(t, err)
		if said := desk.says(history + "cherry"); !strings.Contains(said, "apricot") || strings.Contains(said, "blueberry") {
			t.Errorf("the terminal knows %q", said)
		}
		_, err = pool.Run(t.Context(), r.turn("blueberry"))
		opened(t, err)
		desk.closes(false)
		if got := r.ask(pool, r.turn(history+"date")).Text; !strings.Contains(got, "apricot") || !strings.Contains(got, "cherry") || strings.Contains(got, "blueberry") {
			t.Errorf("afterwards the chat knows %q", got)
		}
		desk = r.opens() // and again, without a turn meanwhile
		desk.says("elderberry")
		desk.closes(true)
		if got := r.ask(pool, r.turn(history+"fig")).Text; !strings.Contains(got, "elderberry") || strings.Count(got, "date") != 1 {
			t.Errorf("at last the chat knows %q", got)
		}
	})
}

// A handoff ends the idle process, and is refused while a turn runs.
// Behaviour: session-handoff.
func TestRelease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	if err := pool.Release(t.Context(), r.session); err != nil {
		t.Errorf("without a process: %v", err)
	}
	r.ask(pool, r.turn("hello"))
	pid := pool.Stats().PIDs[0]
	if err := pool.Release(t.Context(), r.session); err != nil || pool.Stats().Idle != 0 {
		t.Errorf("%v, and left are %+v", err, pool.Stats())
	}
	if _, err := process.StartTime(pid); !errors.Is(err, process.ErrGone) {
		t.Errorf("the process that was idle: %v", err)
	}
	running := make(chan struct{})
	ctx, stop := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	turn := r.turn(`[[stub {"hang": "answer"}]]`)
	turn.Watcher = watcher{consumed: func() { close(running) }}
	go func() {
		defer close(done)
		_, _ = pool.Run(ctx, turn)
	}()
	<-running
	if err := pool.Release(t.Context(), r.session); !errors.Is(err, claude.ErrBusy) {
		t.Errorf("during a turn: %v", err)
	}
	stop(agent.ErrStopped)
	<-done
}

// Handovers between a chat and a terminal, at random, and with kills: each side knows all that was said before it, in order, or does
// not answer.
// Behaviour: session-open, session-taken-back.
func TestHandovers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	handovers := 25
	if os.Getenv("CLAWHOST_LONG") != "" {
		handovers = 1000
	}
	random := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	t.Logf("seed %d", os.Getpid())
	pool := r.pool()
	var said []string
	next := func() string { return fmt.Sprintf("word%d.", len(said)) }
	knows := func(who, answer string) {
		t.Helper()
		last := -1
		for i, word := range said {
			at := strings.Index(answer, word)
			if at <= last || strings.Count(answer, word) != 1 {
				t.Fatalf("%s does not know %q, the word %d of %d, in its place: %q", who, word, i, len(said), answer)
			}
			last = at
		}
	}
	r.ask(pool, r.turn("begin"))
	answered, refused := 0, 0
	for range handovers {
		for range random.IntN(3) {
			knows("the chat", r.ask(pool, r.turn(history+next())).Text)
			said = append(said, next())
			answered++
		}
		if random.IntN(2) == 0 {
			if err := pool.Release(t.Context(), r.session); err != nil {
				t.Fatal(err)
			}
		}
		desk := r.opens()
		for range random.IntN(4) {
			if random.IntN(3) == 0 {
				_, err := pool.Run(t.Context(), r.turn("lost"))
				opened(t, err)
				refused++
				continue
			}
			knows("the terminal", desk.says(history+next()))
			said = append(said, next())
			answered++
		}
		desk.closes(random.IntN(2) == 0)
		if len(said) > 40 { // the history grows: begin again
			r.session, r.started, said = uuid.NewString(), false, nil
			r.ask(pool, r.turn("begin"))
		}
	}
	t.Logf("%d handovers, %d answers, %d refusals", handovers, answered, refused)
	if answered == 0 || refused == 0 {
		t.Error("nothing was tried")
	}
}
