package store_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store"
)

const crashSessions = 12

// TestCrash kills a host over and over while it is fed, and then looks at what it was given, what its runs did and what
// the network saw. A kill -9 leaves the kernel's caches whole: this says nothing of a power cut, which is what
// synchronous=FULL is for. CLAWHOST_LONG kills 250 times instead of 10; CLAWHOST_CRASH_SEED repeats a run, as far
// as the scheduler lets it.
// Behaviour: accept-durable, burst-durable, answer-once.
func TestCrash(t *testing.T) {
	kills, seed := 10, uint64(time.Now().UnixNano())
	if os.Getenv("CLAWHOST_LONG") != "" {
		kills = 250
	}
	if s := os.Getenv("CLAWHOST_CRASH_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	dir := t.TempDir()
	store.Prepare(t, filepath.Join(dir, "clawhost.db"))
	c := &crash{dir: dir, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), accepted: map[string]int{}}
	for n := range c.sessions {
		c.sessions[n].name = fmt.Sprintf("s%d", n)
	}
	began := time.Now()
	for range kills {
		c.live(t, time.Duration(5+c.random.IntN(195))*time.Millisecond)
	}
	fed := time.Since(began)
	c.live(t, 0)
	c.check(t)
	t.Logf("fed for %v, with the last drain %v", fed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// crash is what the test knows without the database.
type crash struct {
	dir      string
	seed     uint64
	lives    int
	random   *rand.Rand
	sessions [crashSessions]crashSession
	accepted map[string]int // how often an event was reported as accepted
	resent   int            // events without an answer that were submitted again
	repeated int            // events that were submitted again although there was an answer
}

// crashSession submits its events one after the other, as a plugin does that acknowledges upstream only what was
// answered.
type crashSession struct {
	name     string
	answered int  // the last event that was answered
	again    bool // the last one was answered and is submitted a second time
}

func (s *crashSession) event() string {
	if s.again {
		return fmt.Sprintf("%s-%d", s.name, s.answered)
	}
	return fmt.Sprintf("%s-%d", s.name, s.answered+1)
}

// live starts a host, feeds it and kills it some time after it is ready. With no time it lets it drain and end.
func (c *crash) live(t *testing.T, kill time.Duration) {
	t.Helper()
	c.lives++
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", crashHostEnv, c.dir, c.seed, c.lives),
		crashServerEnv+"="+store.DSN(filepath.Join(c.dir, "clawhost.db")))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || lines.Text() != "ready" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("life %d: the host does not start: %q %s", c.lives, lines.Text(), stderr.String())
	}
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		c.feed(t, stdin, lines)
	} else {
		stuck := time.AfterFunc(5*time.Minute, func() {
			t.Error("the host does not drain: something is lost in it")
			_ = cmd.Process.Kill()
		})
		defer stuck.Stop()
		fmt.Fprintln(stdin, "drain")
		for lines.Scan() && lines.Text() != "drained" {
			t.Errorf("while it drains the host says %q", lines.Text())
		}
	}
	err = cmd.Wait()
	if stderr.Len() > 0 || (kill == 0 && err != nil) {
		t.Fatalf("life %d: the host failed: %v\n%s", c.lives, err, stderr.String())
	}
}

// feed has one event of each session on its way until the host is gone.
func (c *crash) feed(t *testing.T, stdin io.Writer, lines *bufio.Scanner) {
	t.Helper()
	waiting := map[string]*crashSession{}
	submit := func(s *crashSession) {
		waiting[s.event()] = s
		fmt.Fprintf(stdin, "%s %s %d\n", s.event(), s.name, s.answered+1)
	}
	for n := range c.sessions {
		submit(&c.sessions[n])
	}
	for lines.Scan() {
		verdict, event, _ := strings.Cut(lines.Text(), " ")
		s := waiting[event]
		if s == nil {
			t.Fatalf("the host says %q", lines.Text())
		}
		delete(waiting, event)
		if verdict == "accepted" {
			c.accepted[event]++
		}
		switch {
		case s.again:
			if s.again = false; verdict != "duplicate" {
				t.Errorf("event %s was answered, submitted again and %s", event, verdict)
			}
		default:
			s.answered++
			if s.again = c.random.IntN(10) == 0; s.again {
				c.repeated++
			}
		}
		submit(s)
	}
	c.resent += len(waiting)
}

func (c *crash) read(t *testing.T, name string) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var notes [][]string
	for line := range strings.Lines(string(data)) {
		notes = append(notes, strings.Fields(line))
	}
	return notes
}

func (c *crash) check(t *testing.T) {
	t.Helper()
	total := 0
	for _, s := range c.sessions {
		total += s.answered
	}
	for event, n := range c.accepted {
		if n > 1 {
			t.Errorf("event %s was accepted %d times", event, n)
		}
	}
	repeats, repeatedPieces := c.checkSent(t)
	runs := c.checkRuns(t)
	// A machine that is too busy answers little before it is killed.
	if total > 200 && (runs.again == 0 || runs.resumed == 0 || runs.together == 0 || runs.taken == 0 || runs.joined <= runs.taken) {
		t.Errorf("the test shows too little: %+v", runs)
	}

	db := raw(t, filepath.Join(c.dir, "clawhost.db"))
	count := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	for name, query := range invariants {
		if n := count(query); n != 0 {
			t.Errorf("not so: %s (%d)", name, n)
		}
	}
	if n := count(`SELECT COUNT(*) FROM (SELECT event_id FROM runs WHERE state = 'done' GROUP BY event_id HAVING COUNT(*) > 1) AS twice`); n > 0 {
		t.Errorf("%d events were completed twice", n)
	}
	done, turns := count(`SELECT COUNT(*) FROM runs WHERE state = 'done'`), count(`SELECT SUM(turns) FROM sessions`)
	if entries := count(`SELECT COUNT(*) FROM transcript`); done < total || turns != done || entries != done {
		t.Errorf("%d events were answered, %d are done, %d turns are counted, %d are in the transcripts", total, done, turns, entries)
	}
	uncertain := count(`SELECT uncertain FROM store`)
	if repeatedPieces > uncertain {
		t.Errorf("%d pieces were sent again, the store knows of %d", repeatedPieces, uncertain)
	}
	if store.DSN(filepath.Join(c.dir, "clawhost.db")) == "" { // a server checks its own
		var check string
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
			t.Errorf("integrity check: %s, %v", check, err)
		}
	}
	t.Logf("%d events answered, %d submitted again unanswered and %d answered; %d runs begun, %d of them again, %d of which had said something, %d for several; "+
		"%d times a message was told to a run, %d times it answered it; %d pieces whose outcome was unknown, %d of them sent twice and more (%d sends too many)",
		total, c.resent, c.repeated, runs.starts, runs.again, runs.resumed, runs.together, runs.joined, runs.taken, uncertain, repeatedPieces, repeats)
}

// checkSent wants each item of each answered event at the network, in order. An item may be there again only under its
// own key, before any later item of its chat, and marked as uncertain.
func (c *crash) checkSent(t *testing.T) (repeats, items int) {
	t.Helper()
	type last struct {
		piece int // counted from 1 over the session
		key   string
	}
	lasts, repeated := map[string]last{}, map[string]bool{}
	previews, replaced := map[string]bool{}, map[string]bool{}
	for _, f := range c.read(t, "sent") {
		key, session := f[0], f[1]
		switch f[2] {
		case "preview":
			previews[key] = true
			continue
		case "delete":
			replaced[f[3]] = true
			continue
		}
		replaced[f[5]] = true
		n, _ := strconv.Atoi(f[2])
		k, _ := strconv.Atoi(f[3])
		item, l := 2*(n-1)+k+1, lasts[session]
		switch {
		case item == l.piece && key == l.key && f[4] == "uncertain":
			repeats++
			repeated[key] = true
		case item == l.piece+1 && key != l.key:
			lasts[session] = last{item, key}
		default:
			t.Errorf("session %s: piece %d, %v, after piece %d with key %s", session, item, f, l.piece, l.key)
			lasts[session] = last{item, key}
		}
	}
	for _, s := range c.sessions {
		// One more event may have been accepted by a host that was killed before it could say so.
		if n := lasts[s.name].piece; n < 2*s.answered || n > 2*(s.answered+1) || n%2 != 0 {
			t.Errorf("session %s: %d pieces arrived, %d events were answered", s.name, n, s.answered)
		}
	}
	for key := range previews {
		if !replaced[key] {
			t.Errorf("the preview %s stays in its chat", key)
		}
	}
	delete(replaced, "-")
	for key := range replaced {
		if !previews[key] {
			t.Errorf("%s was edited and is no preview", key)
		}
	}
	t.Logf("%d previews were shown", len(previews))
	return repeats, len(repeated)
}

// crashRuns is what the runs did.
type crashRuns struct {
	starts, again, resumed  int
	together, joined, taken int // runs for more than one message; messages steered into a run; those that it answered
}

// checkRuns wants one run of a session at a time, in the order of its events, and a run that was lost to begin again with
// the same messages. The one after it begins behind the last message that it answered.
func (c *crash) checkRuns(t *testing.T) (counted crashRuns) {
	t.Helper()
	type last struct {
		running  bool
		messages []string // of the last run
		until    int      // the last that it may have answered, or that was answered before it
	}
	lasts := map[string]*last{}
	for n := range c.sessions {
		lasts[c.sessions[n].name] = &last{}
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, f := range c.read(t, "runs") {
		if f[0] == "life" {
			for _, l := range lasts {
				l.running = false
			}
			continue
		}
		l, messages := lasts[f[1]], f[2:]
		switch f[0] {
		case "join":
			counted.joined++
		case "resume":
			counted.resumed++
		case "end":
			l.running, l.until = false, number(messages[0])
			counted.taken += l.until - number(l.messages[len(l.messages)-1])
		case "start":
			counted.starts++
			if len(messages) > 1 {
				counted.together++
			}
			if l.running {
				t.Errorf("session %s: two runs at once", f[1])
			}
			for i := range messages {
				if number(messages[i]) != number(messages[0])+i {
					t.Errorf("session %s: a run for %v", f[1], messages)
				}
			}
			switch {
			case len(l.messages) > 0 && messages[0] == l.messages[0]:
				counted.again++
				if !slices.Equal(messages, l.messages) {
					t.Errorf("session %s: a run for %v begins again for %v", f[1], l.messages, messages)
				}
			case number(messages[0]) != l.until+1:
				t.Errorf("session %s: event %s after %d", f[1], messages[0], l.until)
			}
			l.running, l.messages = true, messages
		}
	}
	return counted
}
