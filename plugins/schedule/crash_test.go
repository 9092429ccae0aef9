package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// world is a simulation of years: people make schedules and answer, processes end in any call, and the host is off for a while.
type world struct {
	t      *testing.T
	random *rand.Rand
	config config
	memory *memory
	now    time.Time

	process *process
	plugin  *schedules
	ctx     context.Context
	singles map[int]bool // numbers of those that are due once; true: they send a text
	paused  map[int]int  // how many times were due while a schedule was paused
	deaths  int
}

// start starts a process, again and again until one lives. Many end at some call, and each has another config for missed turns.
func (w *world) start() {
	for {
		w.process = &process{memory: w.memory, left: -1}
		w.config.OnMiss = []string{missRun, missAsk, missSkip}[w.random.IntN(3)]
		if w.random.IntN(3) == 0 {
			w.process.left, w.process.late, w.process.ends = 1+w.random.IntN(60), w.random.IntN(2) == 0, w.random.IntN(3) > 0
		}
		var err error
		w.plugin, w.ctx, err = w.process.start(w.t.Context(), w.config, func() time.Time { return w.now })
		if err == nil {
			err = w.plugin.reconcile(w.ctx)
		}
		if err == nil && !w.process.dead {
			return
		}
		w.died()
	}
}

// died ends the process, and the host is off for a while: a moment, or days.
func (w *world) died() {
	w.deaths++
	if w.process.end != nil {
		w.process.end()
	}
	switch w.random.IntN(6) {
	case 0:
		w.now = w.now.Add(time.Duration(w.random.Int64N(int64(5 * 24 * time.Hour))))
	case 1:
		w.now = w.now.Add(time.Duration(w.random.Int64N(int64(3 * time.Hour))))
	}
}

// says uses a command. It reports false if its outcome is not known.
func (w *world) says(line string) (string, bool) {
	name, args, _ := strings.Cut(line, " ")
	reply, err := w.plugin.ReplyCommand(w.ctx, sdk.CommandCall{Name: name, Args: args, Caller: anna})
	return reply.Text, err == nil
}

// step goes on to the next wake-up, and calls the plugin for it as a host does.
func (w *world) step() {
	if w.process.dead || w.random.IntN(50) == 0 {
		w.died()
		w.start()
	}
	key, at := "", time.Time{}
	for k, t := range w.memory.wakeUps {
		if key == "" || t.Before(at) || t.Equal(at) && k < key {
			key, at = k, t
		}
	}
	if key == "" {
		w.now = w.now.Add(time.Hour)
		return
	}
	if at.After(w.now) {
		w.now = at.Add(time.Duration(w.random.IntN(2000)) * time.Millisecond)
	}
	if w.random.IntN(100) == 0 {
		w.now = w.now.Add(-time.Duration(w.random.IntN(3600)) * time.Second) // the clock is set back
	}
	if err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: key, At: at}); err == nil && w.memory.wakeUps[key].Equal(at) {
		delete(w.memory.wakeUps, key)
	}
	if w.random.IntN(10) > 0 { // otherwise it is still running at the next time
		for _, id := range w.plugin.toFollow() {
			w.plugin.follow(w.ctx, id)
		}
	}
	for id, k := range w.plugin.all {
		if k.value.Asked != nil && w.random.IntN(2) == 0 {
			due := k.value.Asked.Due.Unix()
			w.says(fmt.Sprintf("schedule %s %d %d", []string{"run", "skip"}[w.random.IntN(2)], id, due))
		}
		if k.value.Paused == byFailures {
			before := w.kept(k.key).After
			w.says(fmt.Sprintf("schedule resume %d", id))
			_, count := passed(w.due(k.value), before, w.kept(k.key).After)
			w.paused[id] += count
		}
	}
}

// kept returns a schedule as the host has it.
func (w *world) kept(key string) (r row) {
	if err := json.Unmarshal(w.memory.state[key], &r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) due(r row) times {
	due, err := r.Rule.times(w.plugin.zone)
	if err != nil {
		w.t.Fatal(err)
	}
	return due
}

// single makes a schedule that is due once.
func (w *world) single() {
	before, text := lastNumber(w.memory), w.random.IntN(2) == 0
	line := "remind in 31h ask: once"
	if text {
		line = "remind in 30h once"
	}
	_, known := w.says(line)
	if id := lastNumber(w.memory); known && id > before {
		w.singles[id] = text
	}
}

// lastNumber is the number of the last schedule.
func lastNumber(m *memory) int {
	var c counter
	_ = json.Unmarshal(m.state[counterKey], &c)
	return c.Last
}

// dues returns what has run, by the schedules' numbers and their due times.
func (w *world) dues() map[int]map[int64]bool {
	all := map[int]map[int64]bool{}
	add := func(key string) {
		parts := strings.Split(key, ":")
		if len(parts) != 3 {
			return // a question, a notice, or a run that a person wanted
		}
		id, due := atoi(w.t, parts[1]), int64(atoi(w.t, parts[2]))
		if all[id] == nil {
			all[id] = map[int64]bool{}
		}
		all[id][due] = true
	}
	for key := range w.memory.posts {
		add(key)
	}
	for key := range w.memory.turns {
		add(key)
	}
	return all
}

// check compares what has run with all due times.
func (w *world) check() {
	w.t.Helper()
	ran := w.dues()
	for id, k := range w.plugin.all {
		r := k.value
		due := w.due(r)
		total, days := 0, map[string]bool{}
		for at := due.after(r.Created); !at.IsZero() && !at.After(r.After); at = due.after(at) {
			total++
			days[at.In(w.plugin.zone).Format(time.DateOnly)] = true
			delete(ran[id], at.Unix())
		}
		if left := ran[id]; len(left) > 0 {
			w.t.Errorf("schedule %d ran at times when it was not due: %v", id, left)
		}
		open := 0
		if r.Asked != nil {
			open = r.Asked.Count
		}
		if r.Ran+r.Missed+open+w.paused[id] != total {
			w.t.Errorf("schedule %d: %d ran and %d were missed, %d are open, and %d were paused, of %d", id, r.Ran, r.Missed, open, w.paused[id], total)
		}
		// The clock of each day shows each time once, but for the days that a zone leaves out.
		if r.Rule.Cron == "30 2 * * *" && len(days) != total {
			w.t.Errorf("schedule %d was due %d times on %d days", id, total, len(days))
		}
	}
	// What has run is counted, each once: dues is asked again because it was emptied above.
	for id, times := range w.dues() {
		if k := w.plugin.all[id]; k != nil && len(times) != k.value.Ran {
			w.t.Errorf("schedule %d: the host has %d runs, and %d are counted", id, len(times), k.value.Ran)
		}
	}
	ran = w.dues()
	for id, text := range w.singles {
		if n := len(ran[id]); n > 1 || n == 0 && text && w.plugin.all[id] == nil {
			w.t.Errorf("schedule %d, which is due once, ran %d times", id, n)
		}
	}
}

// Years in each zone (1,000 days, or 10,000 if CLAWHOST_LONG is set), with processes that end in any call, answers that are lost, and a host that is off: every due time ran once, or
// is counted as missed once.
// Behaviour: schedule-once, schedule-miss, schedule-zone, schedule-failures.
func TestManyDays(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, zone) })
		})
	}
}

func simulate(t *testing.T, zone string) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(len(zone)), 1))
	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	w := &world{
		t: t, random: random, memory: newMemory(), now: start, config: config{Timezone: zone}, singles: map[int]bool{}, paused: map[int]int{},
	}
	bad := false // a login that has expired, for a while
	w.memory.answer = func(sdk.Turn) error {
		if random.IntN(200) == 0 {
			bad = !bad
		}
		if bad {
			return &sdk.TurnError{Message: "the login has expired"}
		}
		return nil
	}
	w.start()
	for _, line := range []string{"every day 2:30 ask", "every monday 9:00 send: text", "every month 31 0:30 ask", "remind every 53h text"} {
		for ok := false; !ok; {
			if _, ok = w.says(line); !ok {
				w.start()
			}
		}
	}
	days := 10_000
	if os.Getenv("CLAWHOST_LONG") == "" {
		days = 1_000
	}
	for step := 1; w.now.Before(start.AddDate(0, 0, days)); step++ {
		w.step()
		if step%50 == 0 {
			w.single()
		}
		if t.Failed() {
			return
		}
	}
	// In peace, everything that was begun ends.
	w.process.end()
	w.process = &process{memory: w.memory, left: -1}
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), w.config, func() time.Time { return w.now }); err != nil {
		t.Fatal(err)
	}
	if err := w.plugin.reconcile(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.check()
	if w.deaths < days/50 || len(w.singles) < days/50 {
		t.Errorf("only %d processes ended, and %d schedules were due once", w.deaths, len(w.singles))
	}
	t.Logf("%d processes ended; the host has %d turns and %d messages", w.deaths, len(w.memory.turns), len(w.memory.posts))
	w.process.end()
}

// One schedule, and a process that ends in the n-th call, for each n, before and after the call takes effect: the run is there once.
// Behaviour: schedule-once.
func TestAProcessEndsInEachCall(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"remind 18:30 tea", "remind 18:30 ask: tea?", "every day 18:30 tea?", "every day 18:30 send: tea"} {
		for n := 1; n < 30; n++ {
			for mode := range 4 {
				synctest.Test(t, func(t *testing.T) { endIn(t, line, n, mode&1 == 1, mode&2 == 2) })
			}
		}
	}
}

// endIn has the n-th call after a schedule was made fail.
func endIn(t *testing.T, line string, n int, late, ends bool) {
	t.Helper()
	c := config{Timezone: "Europe/Berlin", OnMiss: missSkip}
	now := thursday()
	clock := func() time.Time { return now }
	w := &world{t: t, memory: newMemory()}
	w.process = &process{memory: w.memory}
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), c, clock); err != nil {
		t.Fatal(err)
	}
	if text, ok := w.says(line); !ok {
		t.Fatal(text)
	}
	due := w.memory.wakeUps["1"]
	now = due
	w.process.left, w.process.late, w.process.ends = n, late, ends
	for tries := 0; ; tries++ {
		err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: "1", At: due})
		if err == nil {
			for _, id := range w.plugin.toFollow() {
				w.plugin.follow(w.ctx, id)
			}
		}
		if !w.process.dead && err == nil {
			break
		}
		if tries > 3 {
			t.Fatalf("%s, %d: it does not end: %v", line, n, err)
		}
		if w.process.dead {
			w.process = &process{memory: w.memory}
			if w.plugin, w.ctx, err = w.process.start(t.Context(), c, clock); err != nil {
				t.Fatal(err)
			}
			if err := w.plugin.reconcile(w.ctx); err != nil {
				t.Fatal(err)
			}
		}
		if !w.memory.wakeUps["1"].Equal(due) {
			for _, id := range w.plugin.toFollow() {
				w.plugin.follow(w.ctx, id)
			}
			break // the host calls no more
		}
	}
	if ran := w.dues()[1]; len(ran) != 1 || !ran[due.Unix()] {
		t.Errorf("%s, call %d (late %v, ends %v): ran at %v", line, n, late, ends, ran)
	}
	again := strings.HasPrefix(line, "every")
	k, next := w.plugin.all[1], w.memory.wakeUps["1"]
	if (k != nil) != again || again && (!next.Equal(due.Add(24*time.Hour)) || k.value.Run != nil || k.value.Ran != 1 || len(k.value.History) != 1) {
		t.Errorf("%s, call %d (late %v, ends %v): left is %+v, next at %v", line, n, late, ends, k, next)
	}
	w.process.end()
}

// A command that the host repeats after a crash makes nothing twice, whichever call was the last before, and also if its text was sent
// meanwhile.
// Behaviour: schedule-once.
func TestACommandThatIsRepeated(t *testing.T) {
	t.Parallel()
	for n := 1; n < 12; n++ {
		for _, sentBefore := range []bool{false, true} {
			for _, late := range []bool{false, true} {
				repeat(t, n, sentBefore, late)
			}
		}
	}
}

// A schedule that is there is not made again: it keeps what it has done.
// Behaviour: schedule-once.
func TestACommandThatIsRepeatedLater(t *testing.T) {
	t.Parallel()
	w := &world{t: t, memory: newMemory()}
	w.process = &process{memory: w.memory}
	now := thursday()
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), config{Timezone: "utc", OnMiss: missAsk}, func() time.Time { return now }); err != nil {
		t.Fatal(err)
	}
	call := sdk.CommandCall{ID: "tg:1", Name: "every", Args: "2h send: tea", Caller: anna}
	for i := range 2 {
		reply, err := w.plugin.ReplyCommand(w.ctx, call)
		if err != nil || !strings.Contains(reply.Text, "This is schedule 1.") {
			t.Fatalf("the reply is %q, %v", reply.Text, err)
		}
		now = w.memory.wakeUps["1"]
		if err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: "1", At: now}); err != nil {
			t.Fatal(err)
		}
		if r := w.plugin.all[1].value; r.Ran != i+1 || len(w.memory.posts) != i+1 {
			t.Errorf("use %d: it is %+v", i, r)
		}
	}
}

func repeat(t *testing.T, n int, sentBefore, late bool) {
	t.Helper()
	c, now := config{Timezone: "utc", OnMiss: missAsk}, thursday()
	clock := func() time.Time { return now }
	w := &world{t: t, memory: newMemory()}
	w.process = &process{memory: w.memory}
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), c, clock); err != nil {
		t.Fatal(err)
	}
	call := sdk.CommandCall{ID: "tg:1", Name: "remind", Args: "in 20m tea", Caller: anna}
	w.process.left, w.process.late, w.process.ends = n, late, true
	_, _ = w.plugin.ReplyCommand(w.ctx, call)
	w.process = &process{memory: w.memory}
	if w.plugin, w.ctx, err = w.process.start(t.Context(), c, clock); err != nil {
		t.Fatal(err)
	}
	if err := w.plugin.reconcile(w.ctx); err != nil {
		t.Fatal(err)
	}
	wake := func() {
		for key, at := range w.memory.wakeUps {
			now = at
			if err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: key, At: at}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if sentBefore {
		wake()
	}
	reply, err := w.plugin.ReplyCommand(w.ctx, call)
	if err != nil || !strings.Contains(reply.Text, "This is schedule 1.") {
		t.Errorf("call %d: the reply is %q, %v", n, reply.Text, err)
	}
	wake()
	if len(w.memory.posts) != 1 || len(w.plugin.all) != 0 {
		t.Errorf("call %d (sent before %v, late %v): sent is %v, left is %v", n, sentBefore, late, w.memory.posts, w.plugin.all)
	}
	call.ID = "tg:2"
	if reply, err := w.plugin.ReplyCommand(w.ctx, call); err != nil || !strings.Contains(reply.Text, "This is schedule 2.") {
		t.Errorf("another call gets %q, %v", reply.Text, err)
	}
}

// Behaviour: schedule-grant.
func TestWithoutAGrant(t *testing.T) {
	t.Parallel()
	w := &world{t: t, memory: newMemory()}
	w.process = &process{memory: w.memory}
	now := thursday()
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), config{Timezone: "utc", OnMiss: missAsk}, func() time.Time { return now }); err != nil {
		t.Fatal(err)
	}
	w.memory.closed = anna.Address.Channel
	text, _ := w.says("remind 18:30 tea")
	if want := "nothing was made. The operator must add this line to the block of this plugin in the config: `grants = [\"test\"]`."; !strings.Contains(text, want) {
		t.Errorf("the reply is %q, want %q in it", text, want)
	}
	if len(w.memory.state)+len(w.memory.wakeUps) > 0 {
		t.Errorf("kept is %q, and %v", w.memory.state, w.memory.wakeUps)
	}
	w.memory.closed = ""
	w.says("remind 18:30 tea")
	w.memory.closed = anna.Address.Channel
	if text, _ := w.says("schedule run 1"); !strings.Contains(text, "Schedule 1 has failed: the operator must add") {
		t.Errorf("a run that fails at once: %q", text)
	}
	w.says("schedule delete 1")
	// A grant that is taken back fails the runs, and after some of them pauses the schedule.
	w.memory.closed = ""
	if text, ok := w.says("every day 18:30 send: tea"); !ok {
		t.Fatal(text)
	}
	w.memory.closed = anna.Address.Channel
	for range maxFailures {
		now = w.memory.wakeUps["2"]
		if err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: "2", At: now}); err != nil {
			t.Fatal(err)
		}
	}
	r := w.plugin.all[2].value
	if r.Paused != byFailures || r.Tell != "" || !strings.Contains(r.History[0].Detail, `grants = ["test"]`) {
		t.Errorf("the schedule is %+v", r)
	}
}

// While a turn runs, the next times are missed: turns do not pile up.
// Behaviour: schedule-busy.
func TestATurnThatTakesLong(t *testing.T) {
	t.Parallel()
	w := &world{t: t, memory: newMemory()}
	w.process = &process{memory: w.memory}
	now := thursday()
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), config{Timezone: "utc", OnMiss: missAsk}, func() time.Time { return now }); err != nil {
		t.Fatal(err)
	}
	w.says("every 2h look")
	for range 3 {
		now = w.memory.wakeUps["1"]
		if err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: "1", At: now}); err != nil {
			t.Fatal(err)
		}
	}
	r := w.plugin.all[1].value
	if len(w.memory.turns) != 1 || r.Ran != 1 || r.Missed != 2 || r.History[1].Detail != "the run before it was not over" {
		t.Errorf("after three times there are %d turns: %+v", len(w.memory.turns), r)
	}
	for _, id := range w.plugin.toFollow() {
		w.plugin.follow(w.ctx, id)
	}
	now = w.memory.wakeUps["1"]
	if err := w.plugin.WakeUp(w.ctx, sdk.WakeUp{Key: "1", At: now}); err != nil || len(w.memory.turns) != 2 {
		t.Errorf("after its end there are %d turns, %v", len(w.memory.turns), err)
	}
}

// The host deletes the state whose key names a person, when that person is forgotten.
// Behaviour: schedule-forget.
func TestKeysNameThePerson(t *testing.T) {
	t.Parallel()
	w := &world{t: t, memory: newMemory()}
	w.process = &process{memory: w.memory}
	var err error
	if w.plugin, w.ctx, err = w.process.start(t.Context(), config{Timezone: "utc", OnMiss: missAsk}, thursday); err != nil {
		t.Fatal(err)
	}
	w.says("remind 18:30 tea")
	if _, err := w.plugin.propose(w.ctx, sdk.ToolCall{Caller: bob}, proposeIn{When: "in 2h", Text: "tea", Kind: "send"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"s1/test:anna", "p2/test:bob"} {
		if w.memory.state[key] == nil {
			t.Errorf("there is no %q, only %q", key, w.memory.state)
		}
	}
	// The wake-up of a schedule that was deleted so does nothing.
	delete(w.memory.state, "s1/test:anna")
	next, ctx, err := w.process.start(t.Context(), config{Timezone: "utc", OnMiss: missAsk}, thursday)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(next.reconcile(ctx), next.WakeUp(ctx, sdk.WakeUp{Key: "1", At: thursday().Add(24 * time.Hour)}))
	if err != nil || len(w.memory.posts) != 1 { // the proposal
		t.Errorf("posted is %v, %v", w.memory.posts, err)
	}
}
