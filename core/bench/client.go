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
)

// numbered finds the number of a message in its text, and in the stub's answer.
var numbered = regexp.MustCompile(`bench-(\d+)-`)

// filler gives messages a typical length.
var filler = strings.Repeat("How much wood would a woodchuck chuck? ", 3)

func text(number int) string { return mark(number) + " " + filler }

// mark is where the number of a message is in its text.
func mark(number int) string { return fmt.Sprintf("bench-%d-", number) }

func numberIn(line []byte) (int, bool) {
	found := numbered.FindSubmatch(line)
	if found == nil {
		return 0, false
	}
	number, err := strconv.Atoi(string(found[1]))
	return number, err == nil
}

// event is the news about a message: it was accepted, or answered.
type event struct {
	answer bool
	number int
	at     time.Time
}

// client is a person in a chat of the echo channel.
type client struct {
	chat   string
	conn   net.Conn
	events chan event // closed when the connection ends
}

var errHungUp = errors.New("the echo channel hung up")

// dial joins a chat. It tries until the channel listens, so that it is connected before the host answers.
func dial(address, chat string) (*client, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			c := &client{chat: chat, conn: conn, events: make(chan event, 64)}
			go c.read()
			if _, err = fmt.Fprintln(conn, chat); err == nil {
				return c, nil
			}
			c.leave()
		}
		if time.Since(began) > patience {
			return nil, err
		}
	}
}

// leave ends the connection and waits for its reader.
func (c *client) leave() {
	_ = c.conn.Close()
	for range c.events {
	}
}

func (c *client) read() {
	defer close(c.events)
	for lines := bufio.NewScanner(c.conn); lines.Scan(); {
		e := event{at: time.Now()}
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ok":
			e.number, _ = strconv.Atoi(rest)
		case "say":
			e.answer = true
			e.number, _ = numberIn(lines.Bytes())
		}
		c.events <- e
	}
}

// send writes a message and returns the time.
func (c *client) send(number int) (time.Time, error) { return c.say(number, text(number)) }

func (c *client) say(number int, text string) (time.Time, error) {
	at := time.Now()
	_, err := fmt.Fprintln(c.conn, c.chat, number, text)
	return at, err
}

// next is the next event.
func (c *client) next() (event, error) {
	select {
	case e, ok := <-c.events:
		if !ok {
			return e, errHungUp
		}
		return e, nil
	case <-time.After(patience):
		return event{}, fmt.Errorf("nothing was heard in chat %s for %s", c.chat, patience)
	}
}

// accepted waits until the host has a message.
func (c *client) accepted(number int) (time.Time, error) { return c.await(number, false) }

// answered waits for a message's answer.
func (c *client) answered(number int) (time.Time, error) { return c.await(number, true) }

func (c *client) await(number int, answer bool) (time.Time, error) {
	for {
		e, err := c.next()
		if err != nil {
			return time.Time{}, fmt.Errorf("message %d: %w", number, err)
		}
		if e.answer == answer && e.number == number {
			return e.at, nil
		}
	}
}
