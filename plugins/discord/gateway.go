package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"github.com/clawhost/clawhost/sdk/network"
)

// Operations of the gateway.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opAcknowledged   = 11
)

const (
	// maxFrame is the largest frame that is read, in bytes: a server with many channels comes in one.
	maxFrame = 32 << 20
	// greetTime bounds the dialling and the gateway's first word.
	greetTime = 20 * time.Second
	writeTime = 10 * time.Second
	// closeResumable is a code of the bot's own. By 1000 and 1001 it would end its session.
	closeResumable = 4000
)

type identify struct {
	Token      string     `json:"token"`
	Intents    int        `json:"intents"`
	Properties properties `json:"properties"`
}

type properties struct {
	OS      string `json:"os"`
	Browser string `json:"browser"`
	Device  string `json:"device"`
}

type resume struct {
	Token     string `json:"token"`
	SessionID string `json:"session_id"`
	Seq       int64  `json:"seq"`
}

// closedError is a connection that Discord closed, or asked the bot to.
type closedError struct {
	code  int    // of the websocket; zero: none
	text  string // Discord's, or what happened
	lost  bool   // the session cannot be resumed
	asked bool   // Discord wants a new connection at once
}

// Error implements error.
func (e *closedError) Error() string {
	if e.code == 0 {
		return e.text
	}
	return fmt.Sprintf("Discord closed the connection: %d %s", e.code, e.text)
}

// sessionEnded reports whether Discord will not resume the session.
func (e *closedError) sessionEnded() bool {
	return e.lost || e.code == 4003 || e.code == 4007 || e.code == 4009
}

// link is one connection to the gateway.
type link struct {
	ws       *websocket.Conn
	interval time.Duration // between heartbeats
	seq      atomic.Int64  // the last event that came
	heard    atomic.Int64  // when something came last, in Unix milliseconds
	writing  sync.Mutex
}

// dial connects and waits for the gateway's greeting. Its transport tells which server it may be.
func dial(ctx context.Context, to *transport, address string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	u, err := gatewayAddress(to, address)
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{Proxy: to.base.Proxy, HandshakeTimeout: greetTime}
	ws, response, err := dialer.DialContext(ctx, u, nil)
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	// The answer to a close would be the same code, and 1000 or 1001 from the bot ends its session.
	ws.SetCloseHandler(func(int, string) error { return nil })
	l := &link{ws: ws}
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })()
	_ = ws.SetReadDeadline(time.Now().Add(greetTime))
	e, err := l.next()
	if err != nil {
		_ = ws.Close()
		return nil, err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if e.Operation != opHello || json.Unmarshal(e.RawData, &hello) != nil || hello.Interval <= 0 || hello.Interval > 600_000 {
		_ = ws.Close()
		return nil, errors.New("the gateway does not greet")
	}
	l.interval = time.Duration(hello.Interval) * time.Millisecond
	return l, nil
}

// gatewayAddress adds the version and the encoding, and keeps the token from others than Discord.
func gatewayAddress(to *transport, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the gateway has no proper address")
	}
	discord := u.Scheme == "wss" && (u.Hostname() == "discord.gg" || strings.HasSuffix(u.Hostname(), ".discord.gg"))
	test := to.host != "" && u.Scheme == "ws" && loopback(u.Hostname())
	if !discord && !test {
		return "", errors.New("the gateway is no host of Discord")
	}
	u.RawQuery = "v=" + discordgo.APIVersion + "&encoding=json"
	return u.String(), nil
}

// next reads a frame.
func (l *link) next() (*discordgo.Event, error) {
	_, frame, err := l.ws.ReadMessage()
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
		return nil, &closedError{code: closed.Code, text: closed.Text}
	}
	if err != nil {
		return nil, fmt.Errorf("read from the gateway: %w", err)
	}
	l.heard.Store(time.Now().UnixMilli())
	e := &discordgo.Event{}
	if json.Unmarshal(frame, e) != nil {
		return nil, errors.New("the gateway sent what is no event")
	}
	return e, nil
}

// read passes events on until the connection ends. Interactions, which have to be answered within 3 seconds, it also shows
// to at once.
func (l *link) read(ctx context.Context, events chan<- *discordgo.Event, at func(*discordgo.Event)) error {
	for {
		// Each heartbeat is answered: when nothing comes for two of them, nobody is there.
		_ = l.ws.SetReadDeadline(time.Now().Add(2*l.interval + l.interval/2))
		e, err := l.next()
		if err != nil {
			return err
		}
		switch e.Operation {
		case opDispatch:
			l.seq.Store(e.Sequence)
			if e.Type == "INTERACTION_CREATE" {
				at(e)
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return ctx.Err()
			}
		case opHeartbeat:
			if err := l.write(opHeartbeat, l.last()); err != nil {
				return err
			}
		case opReconnect:
			return &closedError{text: "Discord asks for a new connection", asked: true}
		case opInvalidSession:
			return &closedError{text: "Discord has given up the session", lost: string(e.RawData) != "true"}
		}
	}
}

// beat sends heartbeats until ctx ends. That one fails the reader sees too.
func (l *link) beat(ctx context.Context) {
	if !network.Pause(ctx, rand.N(l.interval)) {
		return
	}
	ticker := time.NewTicker(l.interval)
	defer ticker.Stop()
	for {
		if l.write(opHeartbeat, l.last()) != nil {
			_ = l.ws.Close()
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// last is the last event that came, as a heartbeat says it.
func (l *link) last() any {
	if seq := l.seq.Load(); seq > 0 {
		return seq
	}
	return nil
}

func (l *link) write(op int, data any) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if err := l.ws.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}

// close leaves the session to be resumed.
func (l *link) close() {
	_ = l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(closeResumable, ""), time.Now().Add(time.Second))
	_ = l.ws.Close()
}

// decode reads an event's data.
func decode(e *discordgo.Event, into any) error {
	if err := json.Unmarshal(e.RawData, into); err != nil {
		return fmt.Errorf("read %s: %w", e.Type, err)
	}
	return nil
}
