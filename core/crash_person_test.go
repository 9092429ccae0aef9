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
	"time"

	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// person writes numbered messages in one chat and notes the answers. What they write, and what they make of what they read, is
// the behaviour's.
type person struct {
	chat, address string
	behaviour

	mu      sync.Mutex
	changed *sync.Cond
	sent    int               // messages that the host took
	written int               // the last message that was written, which the host may have taken though it did not say so
	replies []line            // to what was asked, not taken yet
	answers []int             // the numbers answered, in the order seen first
	keys    map[string]string // the text seen under each key
	last    []string          // the texts that were seen last
	repeats int
	wrong   []string
	conn    net.Conn
	ended   bool
}

// behaviour is what a person does. Its methods are called under the person's lock.
type behaviour interface {
	// says is what message n says; ahead is how many messages are written ahead of the answers.
	says(n int) string
	ahead() int
	// hears takes a text that was not seen before: it returns the numbers that are answered by it, and what is to be written in
	// reply. An error says what is wrong with the text.
	hears(text string) (answered []int, replies []line, err error)
	// problems says what is wrong with all that was heard, when everything is answered.
	problems(sent int) []string
}

// line is a message as the channel knows it.
type line struct {
	id, text string
	typed    bool // its person is seen typing it
}

func newPerson(chat, address string, b behaviour) *person {
	p := &person{chat: chat, address: address, behaviour: b, keys: map[string]string{}}
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
	p.changed.Broadcast()
	p.mu.Unlock()
	oks := make(chan string)
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
	for {
		next, reply, open := p.next(ctx, conn)
		if !open {
			break
		}
		if next.typed {
			fmt.Fprintln(conn, p.chat, "...")
		}
		if _, err := fmt.Fprintln(conn, p.chat, next.id, next.text); err != nil {
			return
		}
		ok, open := <-oks
		if !open {
			return
		}
		p.taken(next, reply, ok)
	}
	for range oks { // nothing more to write
	}
}

// taken notes that the host has a line.
func (p *person) taken(l line, reply bool, ok string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ok != l.id:
		p.wrong = append(p.wrong, fmt.Sprintf("message %s was acknowledged for %s", ok, l.id))
	case reply:
		p.replies = p.replies[1:]
	default:
		p.sent++
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

// next waits for something to write, a reply or the next message, but for messages not so far ahead of the answers as the
// person writes. It is false when the connection has ended, or the person hangs up. Whoever waits for no answer is seen typing, so that
// the host may start Claude before the message comes.
func (p *person) next(ctx context.Context, conn net.Conn) (next line, reply, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.conn == conn && !p.ended {
		if len(p.replies) > 0 {
			return p.replies[0], true, true
		}
		if n := p.sent + 1; n == p.written || ctx.Err() == nil && p.sent-len(p.answers) < p.behaviour.ahead() {
			p.written = n
			return line{strconv.Itoa(n), p.behaviour.says(n), p.sent == len(p.answers)}, false, true
		}
		p.changed.Wait()
	}
	return line{}, false, false
}

var saying = regexp.MustCompile(`^say (\S+) (\S+) (".*")$`)

// hear notes a line of the host.
func (p *person) hear(heard string, oks chan<- string) {
	if id, ok := strings.CutPrefix(heard, "ok "); ok {
		oks <- id
		return
	}
	said := saying.FindStringSubmatch(heard)
	if said == nil || said[1] != p.chat {
		p.complain("heard %q", heard)
		return
	}
	text, err := strconv.Unquote(said[3])
	if err != nil {
		p.complain("heard %q", heard)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.changed.Broadcast()
	text, marked := unmarked(text)
	if before, again := p.keys[said[2]]; again {
		p.repeats++
		if before != text {
			p.wrong = append(p.wrong, fmt.Sprintf("key %s said %q and then %q", said[2], before, text))
		}
		if !marked {
			p.wrong = append(p.wrong, fmt.Sprintf("key %s said %q again, without a mark", said[2], text))
		}
		return
	}
	p.keys[said[2]] = text
	p.last = append(p.last[max(0, len(p.last)-5):], text)
	if text == wording.WaitingForOthers {
		return // on a slow machine: it is no answer
	}
	answered, replies, err := p.behaviour.hears(text)
	if err != nil {
		p.wrong = append(p.wrong, err.Error())
	}
	p.answers = append(p.answers, answered...)
	p.replies = append(p.replies, replies...)
}

func (p *person) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// await returns when every message that was written before has its answer, or time is up.
func (p *person) await() {
	late := time.AfterFunc(drainTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wrong = append(p.wrong, fmt.Sprintf("gave up waiting for answers; heard last: %q", p.last))
		p.changed.Broadcast()
	})
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for written := p.written; len(p.answers) < written && len(p.wrong) == 0; {
		p.changed.Wait()
	}
}

func (p *person) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.changed.Broadcast()
	if p.conn != nil {
		p.conn.Close()
	}
}

// problems lists the unexpected results of messages.
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
	return append(found, p.behaviour.problems(p.sent)...)
}
