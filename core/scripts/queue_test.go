package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// conformance is what becomes, in each mode, of two messages that come while a turn's tool runs. The turn answers with
// what it got meanwhile.
var conformance = map[string]struct {
	running string // of the script, while the tool runs
	after   string // and once it has ended
}{
	"followup": {
		running: waits(2),
		after:   "expect anna '\\Aone\\z' 'second$' 'third$'\nprompt 'first$' '\\A\\[Telegram Anna NOW\\] second\\z' '\\A\\[Telegram Anna NOW\\] third\\z'",
	},
	"queue": {
		running: waits(2),
		after:   "expect anna '\\Aone\\z' 'second$' 'third$'\nprompt 'first$' '\\A\\[Telegram Anna NOW\\] second\\z' '\\A\\[Telegram Anna NOW\\] third\\z'",
	},
	"collect": {
		running: waits(2),
		after: "expect anna '\\Aone\\z' 'third$'\nprompt 'first$'\nprompt " +
			"'(?s)\\A\\[Queued messages while agent was busy\\]\\n\\n---\\nQueued #1 \\(from Anna\\)\\nsecond\\n\\n---\\nQueued #2 \\(from Anna\\)\\nthird\\z'",
	},
	"steer": {
		running: "told 'second$'\ntold 'third$'\n" + waits(0),
		after:   "expect anna '(?s)\\Aone .*second\\n.*third\\z'\nprompt 'first$' 'second$' 'third$'",
	},
	"steer-backlog": {
		running: "told 'second$'\ntold 'third$'\n" + waits(0),
		after:   "expect anna '(?s)\\Aone .*second\\n.*third\\z'\nprompt 'first$' 'second$' 'third$'",
	},
}

// waits has the status say how many messages wait.
func waits(n int) string {
	return fmt.Sprintf("says anna /status\nexpect anna 'running for .*, %d waiting'", n)
}

// caps is what becomes of four messages that come while a turn's tool runs, in the mode followup, where two may wait.
var caps = map[string]string{
	"old":       "expect anna '\\Aone\\z' 'four$' 'five$'\nprompt 'first$' '\\A\\[Telegram Anna NOW\\] four\\z' 'five$'",
	"new":       "expect anna '\\Aone\\z' 'two$' 'three$'\nprompt 'first$' '\\A\\[Telegram Anna NOW\\] two\\z' 'three$'",
	"summarize": "expect anna '\\Aone\\z' '\\A2 messages were dropped' 'four$' 'five$'\nprompt 'first$' '(?s)\\A\\[Queue overflow\\] Dropped 2 message\\(s\\) due to cap\\.\\nSummary:\\n- two\\n- three\\n\\n\\[Telegram Anna NOW\\] four\\z' 'five$'",
}

// TestQueueConforms drives the real host through every mode and every way to drop.
// Behaviour: steer, queue-followup, queue-plain, queue-collect, queue-interrupt, queue-cap, queue-cap-other.
func TestQueueConforms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, script string) {
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const begin = "host\nsays anna '/queue %s'\nexpect anna 'mode='\nsays anna '[[stub {\"tool\": \"hold one\", \"say\": \"one $STEERED\"}]] first'\nheld one\n"
	for mode, c := range conformance {
		write(mode, fmt.Sprintf(begin, mode)+"says anna second\nsays anna third\n"+c.running+"\nrelease one\n"+c.after+"\nsilent\n! prompt\n")
	}
	write("interrupt", fmt.Sprintf(begin, "interrupt")+
		"says anna second\nexpect anna 'second$'\nsays anna third\nexpect anna 'third$'\nrelease one\nsilent\nprompt 'first$' '(?s)\\ANote: .*second\\z' 'third$'\n! prompt\n")
	for drop, after := range caps {
		write("drop-"+drop, fmt.Sprintf(begin, "followup cap:2 drop:"+drop)+
			"says anna two\nsays anna three\nsays anna four\nsays anna five\n"+waits(2)+"\nrelease one\n"+after+"\nsilent\n! prompt\n")
	}
	run(t, dir)
}
