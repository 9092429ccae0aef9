package core_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// person writes numbered messages in one chat and notes the answers.
type person struct {
	chat, address string

	mu      sync.Mutex
	changed *sync.Cond
	sent    int               // messages that the host took
	answers []int             // the numbers answered, in the order seen first
	keys    map[string]string // the text seen under each key
	repeats int
	wrong   []string
	conn    net.Conn
	ended   bool
}

func newPerson(chat, address string) *person {
	p := &person{chat: chat, address: address, keys: map[string]string{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// talk writes until ctx ends, and reads until the person hangs up. A message is written again until the host has taken it.
func (p *person) talk(ctx context.Context) {
	stop := context.AfterFunc(ctx, p.changed.Broadcast)
	defer stop()
	for {
		conn, err := net.Dial("tcp", p.address)
		if p.over() {
			return
		}
		if err != nil {
			select {
			case <-time.After(20 * time.Millisecond): // the host is down: nothing tells when it is back
			case <-ctx.Done():
				<-time.After(20 * time.Millisecond)
			}
			continue
		}
		p.converse(ctx, conn)
	}
}

func (p *person) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// converse uses one connection until it breaks.
func (p *person) converse(ctx context.Context, conn net.Conn) {
	p.mu.Lock()
	p.conn = conn
	p.mu.Unlock()
	oks := make(chan int)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(oks)
		defer p.lost(conn)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			p.hear(lines.Text(), oks)
		}
	})
	defer reading.Wait()
	defer conn.Close()
	fmt.Fprintln(conn, p.chat) // join, to hear answers to earlier messages
	for p.mayWrite(ctx, conn) {
		n := p.sent + 1
		if _, err := fmt.Fprintf(conn, "%s %d number-%d-\n", p.chat, n, n); err != nil {
			return
		}
		if ok, open := <-oks; !open {
			return
		} else if ok != n {
			p.complain("message %d was acknowledged for %d", ok, n)
		}
		p.mu.Lock()
		p.sent = n
		p.mu.Unlock()
	}
	for range oks { // nothing more to write
	}
}

// lost notes that a connection has ended.
func (p *person) lost(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == conn {
		p.conn = nil
	}
	p.changed.Broadcast()
}

// mayWrite waits for answers before the person gets too far ahead, and returns false when there is no more to write or the
// connection has ended.
func (p *person) mayWrite(ctx context.Context, conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ctx.Err() == nil && p.conn == conn && p.sent-len(p.answers) >= unanswered {
		p.changed.Wait()
	}
	return ctx.Err() == nil && p.conn == conn
}

var saying = regexp.MustCompile(`^say (\S+) (\S+) (".*")$`)

var number = regexp.MustCompile(`number-(\d+)-`)

// hear notes a line of the host's.
func (p *person) hear(line string, oks chan<- int) {
	if id, ok := strings.CutPrefix(line, "ok "); ok {
		n, _ := strconv.Atoi(id)
		oks <- n
		return
	}
	said := saying.FindStringSubmatch(line)
	if said == nil || said[1] != p.chat {
		p.complain("heard %q", line)
		return
	}
	text, err := strconv.Unquote(said[3])
	if err != nil {
		p.complain("heard %q", line)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.changed.Broadcast()
	if before, again := p.keys[said[2]]; again {
		p.repeats++
		if before != text {
			p.wrong = append(p.wrong, fmt.Sprintf("key %s said %q and then %q", said[2], before, text))
		}
		return
	}
	p.keys[said[2]] = text
	n := number.FindStringSubmatch(text)
	if n == nil {
		p.wrong = append(p.wrong, fmt.Sprintf("an answer to nothing: %q", text))
		return
	}
	answered, _ := strconv.Atoi(n[1])
	p.answers = append(p.answers, answered)
}

func (p *person) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// await returns when every message has its answer, or time is up.
func (p *person) await(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(drainTime, func() {
		p.complain("gave up waiting for answers")
		p.changed.Broadcast()
	})
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.answers) < p.sent && len(p.wrong) == 0 {
		p.changed.Wait()
	}
}

func (p *person) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.conn != nil {
		p.conn.Close()
	}
}

// problems says what became of the messages that should not have.
func (p *person) problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.wrong
	times := map[int]int{}
	for i, n := range p.answers {
		if times[n]++; times[n] == 2 {
			found = append(found, fmt.Sprintf("message %d was answered twice", n))
		}
		if i > 0 && n < p.answers[i-1] {
			found = append(found, fmt.Sprintf("message %d was answered after %d", n, p.answers[i-1]))
		}
	}
	for n := 1; n <= p.sent; n++ {
		if times[n] == 0 {
			found = append(found, fmt.Sprintf("message %d of %d was lost", n, p.sent))
		}
	}
	return found
}
