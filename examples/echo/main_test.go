package main

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func TestExercise(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	sdktest.Exercise(t, sdktest.Setup{
		Component: sdk.NewChannel(limits, open),
		New:       newPeople,
		Chats:     []chat.ID{"anna", "bob"},
		Never: []chat.Reason{
			chat.Temporary, chat.RateLimited, chat.ChatNotFound, chat.Forbidden, chat.TooLong, chat.MediaRejected, chat.TargetGone,
			chat.Invalid,
		},
		Without: []sdktest.Feature{
			sdktest.Absences, sdktest.Accounts, sdktest.Groups, sdktest.Threads, sdktest.Reactions, sdktest.Edits, sdktest.Deletions,
			sdktest.Answers, sdktest.Cuts, sdktest.Repeats,
		},
		BadConfigs: []any{
			`{"listen": 7777}`,
			`{"listen": "no address"}`,
			map[string]any{"listen": taken.Addr().String()},
		},
	})
}

// people are the clients of an echo channel, one a chat. They are simulated to the letter of the protocol: a client
// connects, joins its chat, writes its oldest unacknowledged message, waits for the acknowledgement, and begins again
// when it is cut off.
type people struct {
	address string

	mu      sync.Mutex
	clients map[chat.ID]*client
}

func newPeople(t testing.TB) (sdktest.Network, any) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	p := &people{address: free.Addr().String(), clients: map[chat.ID]*client{}}
	t.Cleanup(func() {
		for _, c := range p.clients {
			c.leave()
		}
	})
	return p, map[string]any{"listen": p.address}
}

func (p *people) of(id chat.ID) *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.clients[id]
	if !ok {
		c = &client{chat: id, address: p.address, gone: make(chan struct{}), written: make(chan struct{}, 1), left: make(chan struct{})}
		p.clients[id] = c
		go c.live()
	}
	return c
}

func (p *people) Deliver(to chat.ID, text string) { p.of(to).write(text) }

func (p *people) Type(in chat.ID) {
	c := p.of(in)
	c.mu.Lock()
	c.types = true
	c.mu.Unlock()
	c.wake()
}

func (p *people) Sent(to chat.ID) []string {
	c := p.of(to)
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.read)
}

func (p *people) Acknowledged(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.mu.Lock()
		i := slices.Index(c.texts, text)
		acknowledged := i >= 0 && i < c.acknowledged
		c.mu.Unlock()
		if acknowledged {
			return true
		}
	}
	return false
}

func (p *people) Refuse(to chat.ID) chat.Reason {
	p.of(to).leave()
	return chat.NotConnected
}

// Fail is Refuse: the peer is absent, and nothing else ever fails.
func (p *people) Fail(to chat.ID, reason chat.Reason) bool { return p.Refuse(to) == reason }

type client struct {
	chat    chat.ID
	address string
	written chan struct{} // there is something to write
	gone    chan struct{} // closed by leave
	left    chan struct{} // closed when live has ended
	once    sync.Once

	mu           sync.Mutex
	texts        []string
	acknowledged int // of texts
	types        bool
	read         []string
}

func (c *client) write(text string) {
	c.mu.Lock()
	c.texts = append(c.texts, text)
	c.mu.Unlock()
	c.wake()
}

func (c *client) wake() {
	select {
	case c.written <- struct{}{}:
	default:
	}
}

func (c *client) leave() {
	c.once.Do(func() { close(c.gone) })
	<-c.left
}

// live connects again and again until the client leaves.
func (c *client) live() {
	defer close(c.left)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if conn, err := net.Dial("tcp", c.address); err == nil {
			c.talk(conn)
		}
		select {
		case <-again.C:
		case <-c.gone:
			return
		}
	}
}

// talk is one connection.
func (c *client) talk(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines, cut := make(chan string), make(chan struct{})
	go func() {
		defer close(cut)
		for in := bufio.NewScanner(conn); in.Scan(); {
			lines <- in.Text()
		}
	}()
	fmt.Fprintln(conn, c.chat)
	waiting := c.next(conn, false)
	for {
		select {
		case line := <-lines:
			if strings.HasPrefix(line, "ok ") {
				waiting = false
				c.mu.Lock()
				c.acknowledged++
				c.mu.Unlock()
			} else {
				c.hear(line)
			}
			waiting = c.next(conn, waiting)
		case <-c.written:
			waiting = c.next(conn, waiting)
		case <-cut:
			return
		case <-c.gone:
			// Once the channel has hung up too it knows that the peer is absent.
			_ = conn.(*net.TCPConn).CloseWrite()
			for {
				select {
				case <-lines:
				case <-cut:
					return
				}
			}
		}
	}
}

// next writes the oldest unacknowledged message unless one is in progress, and reports whether one is now.
func (c *client) next(conn net.Conn, waiting bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.types {
		c.types = false
		fmt.Fprintln(conn, c.chat, "...")
	}
	if waiting || c.acknowledged == len(c.texts) {
		return waiting
	}
	fmt.Fprintf(conn, "%s %d %s\n", c.chat, c.acknowledged, c.texts[c.acknowledged])
	return true
}

func (c *client) hear(line string) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 || parts[0] != "say" || parts[1] != string(c.chat) {
		return
	}
	text, err := strconv.Unquote(parts[3])
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = append(c.read, text)
}
