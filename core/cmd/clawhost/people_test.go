package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// people are those who talk to a script's echo plugins, one a chat.
type people struct {
	addresses map[string]string // by label
	clients   map[string]*client
}

// key is what a script's people are found under.
func (*people) key() any { return (*people)(nil) }

func (p *people) leave() {
	for _, c := range p.clients {
		c.leave()
	}
}

// client is one chat's connection. It reconnects when it was cut.
type client struct {
	chat, address string

	conn net.Conn
	read chan string // the lines; closed once the connection is cut
	kept []string    // answers that came while an acknowledgement was waited for
}

// of returns a chat's client, connected.
func of(ts *testscript.TestScript, label, chat string) *client {
	p := ts.Value((*people)(nil).key()).(*people)
	c, ok := p.clients[label+":"+chat]
	if !ok {
		address, known := p.addresses[label]
		if !known {
			ts.Fatalf("there is no echo plugin %q", label)
		}
		c = &client{chat: chat, address: address}
		p.clients[label+":"+chat] = c
	}
	ts.Check(c.connect())
	return c
}

// connect joins the chat, again and again until the channel is there, unless the client is connected already.
func (c *client) connect() error {
	if c.conn != nil {
		return nil
	}
	tick := time.NewTicker(10 * time.Millisecond) // a port that is opened gives no event
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		conn, err := net.Dial("tcp", c.address)
		if err == nil {
			c.conn, c.read = conn, make(chan string, 1000)
			go func(read chan<- string) { // ends with the connection
				defer close(read)
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					read <- lines.Text()
				}
			}(c.read)
			_, err = fmt.Fprintln(conn, c.chat)
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("no one listens: %w", err)
		}
	}
}

func (c *client) leave() {
	if c.conn != nil {
		_ = c.conn.Close()
		for range c.read { // until it has ended
		}
	}
	c.conn = nil
}

var errCut = errors.New("the connection was cut")

// next returns the next line.
func (c *client) next() (string, error) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case line, ok := <-c.read:
		if !ok {
			c.leave()
			return "", errCut
		}
		return line, nil
	case <-deadline.C:
		return "", errors.New("nothing was heard")
	}
}

// answer is the text of a line that is an answer.
func answer(line string) (string, bool) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 || parts[0] != "say" {
		return "", false
	}
	text, err := strconv.Unquote(parts[3])
	return text, err == nil
}

// join LABEL CHAT joins a chat of an echo plugin.
func join(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: join LABEL CHAT")
	}
	of(ts, args[0], args[1])
}

// say LABEL CHAT ID TEXT… writes a message and waits until the host has it. Where the connection is cut before, it is
// written again.
func say(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: say LABEL CHAT ID TEXT…")
	}
	c := of(ts, args[0], args[1])
	for {
		err := c.say(args[2], strings.Join(args[3:], " "))
		if !errors.Is(err, errCut) {
			ts.Check(err)
			return
		}
		ts.Check(c.connect())
	}
}

func (c *client) say(id, text string) error {
	if _, err := fmt.Fprintf(c.conn, "%s %s %s\n", c.chat, id, text); err != nil {
		c.leave()
		return errCut
	}
	for {
		line, err := c.next()
		if err != nil {
			return err
		}
		if line == "ok "+id {
			return nil
		}
		c.kept = append(c.kept, line)
	}
}

// await LABEL CHAT PATTERN waits for an answer that matches and makes it the script's output. With ! before it the next
// answer must not match.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] await LABEL CHAT PATTERN")
	}
	pattern, err := regexp.Compile("(?ms)" + args[2])
	ts.Check(err)
	c := of(ts, args[0], args[1])
	for {
		var line string
		if len(c.kept) > 0 {
			line, c.kept = c.kept[0], c.kept[1:]
		} else if line, err = c.next(); errors.Is(err, errCut) {
			ts.Check(c.connect())
			continue
		}
		ts.Check(err)
		text, ok := answer(line)
		if !ok {
			continue
		}
		switch matches := pattern.MatchString(text); {
		case matches && neg:
			ts.Fatalf("the answer matches %q: %s", args[2], text)
		case matches || neg:
			fmt.Fprintln(ts.Stdout(), text)
			return
		}
		ts.Logf("skipped: %s", text)
	}
}
