package claude

import "github.com/clawhost/clawhost/core/internal/claude/cli"

// live are the processes that run, with sums over them, so that no message costs a look at each of them. The pool guards it.
type live struct {
	pids     map[int]*worker
	sessions map[string]*worker // the latest process of each

	memory   int64 // bytes that all take, at the last measurement
	own      int64 // bytes that the processes themselves take, without their tools
	measured int   // processes of which that is known
	unknown  int   // processes of which nothing is known yet
}

func newLive() live { return live{pids: map[int]*worker{}, sessions: map[string]*worker{}} }

func (l *live) add(s *worker) {
	l.pids[s.process.ID().PID], l.sessions[s.session] = s, s
	l.count(s.weight, 1)
}

func (l *live) remove(s *worker) {
	if !l.has(s) {
		return
	}
	delete(l.pids, s.process.ID().PID)
	if l.sessions[s.session] == s {
		delete(l.sessions, s.session)
	}
	l.count(s.weight, -1)
}

// weigh notes what a process takes.
func (l *live) weigh(s *worker, w cli.Weight) {
	known := l.has(s)
	if known {
		l.count(s.weight, -1)
	}
	if s.weight = w; known {
		l.count(w, 1)
	}
}

func (l *live) has(s *worker) bool { return l.pids[s.process.ID().PID] == s }

// count adds what n processes take to the sums.
func (l *live) count(w cli.Weight, n int) {
	l.memory += w.All() * int64(n)
	if w.Own > 0 {
		l.own += w.Own * int64(n)
		l.measured += n
	}
	if w.All() == 0 {
		l.unknown += n
	}
}
