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
	// maxFrame is the maximum size of a frame, in bytes: a server with many channels arrives in one.
	maxFrame = 32 << 20
	// greetTime limits connecting and waiting for the gateway's first frame.
	greetTime = 20 * time.Second
	writeTime = 10 * time.Second
	// closeResumable is a close code of the bot's own. The codes 1000 and 1001 would end its session.
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

// closedError is the end of a connection that Discord closed, or asked the bot to close.
type closedError struct {
	code  int    // of the websocket; zero: none
	text  string // from Discord, or what happened
	lost  bool   // whether the session cannot be resumed
	asked bool   // whether Discord wants a new connection at once
}

// Error implements error.
func (e *closedError) Error() string {
	if e.code == 0 {
		return e.text
	}
	return fmt.Sprintf("Discord closed the connection: %d %s", e.code, e.text)
}

// sessionEnded reports whether the session cannot be resumed.
func (e *closedError) sessionEnded() bool {
	return e.lost || e.code == 4003 || e.code == 4007 || e.code == 4009
}

// link is one connection to the gateway.
type link struct {
	ws       *websocket.Conn
	interval time.Duration // between heartbeats
	seq      atomic.Int64  // the last received event
	heard    atomic.Int64  // when data last arrived, in Unix milliseconds
	writing  sync.Mutex
}

// dial connects and waits for the gateway's hello. The transport decides which servers are allowed.
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
	// The library would reply with the same code, and 1000 or 1001 from the bot ends its session.
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
		return nil, errors.New("the gateway sent no hello")
	}
	l.interval = time.Duration(hello.Interval) * time.Millisecond
	return l, nil
}

// gatewayAddress adds the version and the encoding, and refuses servers other than Discord's, which must not receive the
// token.
func gatewayAddress(to *transport, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the gateway's address is invalid")
	}
	discord := u.Scheme == "wss" && (u.Hostname() == "discord.gg" || strings.HasSuffix(u.Hostname(), ".discord.gg"))
	test := to.host != "" && u.Scheme == "ws" && loopback(u.Hostname())
	if !discord && !test {
		return "", errors.New("the gateway is not a host of Discord")
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
		return nil, errors.New("the gateway sent an invalid event")
	}
	return e, nil
}

// read forwards events until the connection ends. It also passes interactions, which must be answered within 3 seconds, to
// at immediately.
func (l *link) read(ctx context.Context, events chan<- *discordgo.Event, at func(*discordgo.Event)) error {
	for {
		// Each heartbeat is acknowledged: if nothing arrives for two of them, the connection is dead.
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

// beat sends heartbeats until ctx ends. The reader notices a failed heartbeat, too.
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

// last returns the last received event's number for a heartbeat.
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

// close closes the connection so that the session can be resumed.
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
