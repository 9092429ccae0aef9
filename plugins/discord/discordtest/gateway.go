package discordtest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// session is what a bot resumes.
type session struct {
	id      string
	intents int
	seq     int64
	events  []object // all of them, for resuming
	held    object   // a message's, to come after the next event
	conn    *conn    // nil: it is away
}

// conn is a connection of the gateway.
type conn struct {
	ws      *websocket.Conn
	mu      sync.Mutex // for writing
	session *session
}

func (c *conn) send(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.WriteJSON(v)
}

func (c *conn) raw(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.WriteMessage(websocket.TextMessage, []byte(text))
}

// close ends the connection with a code; zero: without a word.
func (c *conn) close(code int) {
	if code != 0 {
		c.mu.Lock()
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "closed by the server"),
			time.Now().Add(time.Second))
		c.mu.Unlock()
	}
	_ = c.ws.Close()
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("v") == "" || r.FormValue("encoding") != "json" {
		http.Error(w, "which version?", http.StatusBadRequest)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws}
	s.mu.Lock()
	s.conns[c] = true
	beat := s.heartbeat
	s.mu.Unlock()
	defer s.gone(c)
	c.send(object{"op": 10, "d": object{"heartbeat_interval": beat.Milliseconds()}})
	for {
		var in struct {
			Op int             `json:"op"`
			D  json.RawMessage `json:"d"`
		}
		_ = ws.SetReadDeadline(time.Now().Add(3 * beat)) // Who does not heartbeat is dead.
		if err := ws.ReadJSON(&in); err != nil {
			if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
				s.forget(c)
			}
			return
		}
		switch begun := s.hasSession(c); {
		case begun && (in.Op == 2 || in.Op == 6):
			c.close(4005)
			return
		case !begun && in.Op != 1 && in.Op != 2 && in.Op != 6:
			c.close(4003)
			return
		}
		switch in.Op {
		case 1:
			s.mu.Lock()
			mute := s.mute
			s.mu.Unlock()
			if !mute {
				c.send(object{"op": 11})
			}
		case 2:
			s.identify(c, in.D)
		case 6:
			s.resume(c, in.D)
		case 3, 4, 8, 31: // They ask for what is not modelled.
		default:
			c.close(4001)
			return
		}
	}
}

func (s *Server) hasSession(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.session != nil
}

// gone parts a connection from its session.
func (s *Server) gone(c *conn) {
	_ = c.ws.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if c.session != nil && c.session.conn == c {
		c.session.conn = nil
	}
	s.signal()
}

// forget ends a session, as the close codes 1000 and 1001 do.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.session != nil {
		delete(s.sessions, c.session.id)
	}
}

func (s *Server) identify(c *conn, raw json.RawMessage) {
	var d struct {
		Token   string `json:"token"`
		Intents int    `json:"intents"`
	}
	_ = json.Unmarshal(raw, &d)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused(c, d.Token) {
		return
	}
	if s.starts == 0 {
		c.close(4004) // Discord makes a new token.
		return
	}
	if now := time.Now(); now.Sub(s.identified) < s.identifyEvery {
		s.early++
		s.signal()
		c.send(object{"op": 9, "d": false})
		return
	}
	s.identified = time.Now()
	s.starts = max(-1, s.starts-1)
	s.identifies++
	session := &session{id: "session-" + s.newID(), intents: d.Intents, conn: c}
	s.sessions[session.id] = session
	c.session = session
	guilds := map[string][]*channel{}
	var ids []string
	for _, id := range s.order {
		if ch := s.channels[id]; ch.guild != "" {
			if guilds[ch.guild] == nil {
				ids = append(ids, ch.guild)
			}
			guilds[ch.guild] = append(guilds[ch.guild], ch)
		}
	}
	unavailable := []object{}
	for _, id := range ids {
		unavailable = append(unavailable, object{"id": id, "unavailable": true})
	}
	s.push(session, "READY", object{
		"v": 9, "session_id": session.id, "resume_gateway_url": cmp.Or(s.resumeAt, s.gatewayURL()), "user": s.userObject(BotID),
		"application": object{"id": ApplicationID}, "guilds": unavailable, "private_channels": []object{},
	})
	for _, id := range ids {
		channels, threads := []object{}, []object{}
		for _, ch := range guilds[id] {
			if ch.kind == publicThread {
				threads = append(threads, s.channelObject(ch))
			} else {
				channels = append(channels, s.channelObject(ch))
			}
		}
		s.push(session, "GUILD_CREATE", object{
			"id": id, "name": "guild " + id, "joined_at": s.joined.UTC().Format(time.RFC3339Nano), "channels": channels, "threads": threads,
			"roles": s.rolesOf(id), "emojis": []object{}, "members": []object{}, "owner_id": "1", "member_count": 2,
		})
	}
	if s.identifies == 1 {
		close(s.online)
	}
	s.signal()
}

func (s *Server) resume(c *conn, raw json.RawMessage) {
	var d struct {
		Token     string `json:"token"`
		SessionID string `json:"session_id"`
		Seq       int64  `json:"seq"`
	}
	_ = json.Unmarshal(raw, &d)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused(c, d.Token) {
		return
	}
	session := s.sessions[d.SessionID]
	switch {
	case session == nil:
		c.send(object{"op": 9, "d": false})
		return
	case d.Seq > session.seq:
		c.close(4007)
		return
	}
	if session.conn != nil {
		session.conn.close(4000)
	}
	s.resumes++
	session.conn, c.session = c, session
	for _, e := range session.events[d.Seq:] {
		c.send(e)
	}
	s.push(session, "RESUMED", object{})
	s.signal()
}

// refused closes a connection whose bot may not come in; mu is held.
func (s *Server) refused(c *conn, token string) bool {
	switch {
	case strings.TrimPrefix(token, "Bot ") != s.token: // Discord takes it with and without.
		c.close(4004)
	case s.refusal != 0:
		c.close(s.refusal)
	default:
		return false
	}
	return true
}

// push gives a session its next event; mu is held.
func (s *Server) push(session *session, name string, d object) {
	t, written := s.chaos.trouble(), name == "MESSAGE_CREATE"
	switch {
	case t == late && s.disorder && written && session.held == nil:
		session.held = d
		return
	case t == late, t == again && !written && name != "INTERACTION_CREATE":
		t = none
	}
	s.emit(session, t, name, d)
	if t == again {
		s.emit(session, none, name, d)
	}
	s.release(session)
}

// release gives a session the event that was held back; mu is held.
func (s *Server) release(session *session) {
	if d := session.held; d != nil {
		session.held = nil
		s.emit(session, none, "MESSAGE_CREATE", d)
	}
}

func (s *Server) emit(session *session, t trouble, name string, d object) {
	session.seq++
	e := object{"op": 0, "s": session.seq, "t": name, "d": d}
	session.events = append(session.events, e)
	if session.conn != nil {
		t.deliver(session.conn, e)
	}
}

// dispatch gives an event to each session that may see it; mu is held. What is made of it depends on whether the bot may
// read contents.
func (s *Server) dispatch(name string, c *channel, make func(content bool) object, about *Message) {
	for _, session := range s.sessions {
		if c.guild == "" && session.intents&intentDirectMessages == 0 || c.guild != "" && session.intents&intentGuildMessages == 0 {
			continue
		}
		content := c.guild == "" || session.intents&intentContent != 0
		if about != nil && (about.Author == BotID || s.names(about, BotID)) {
			content = true
		}
		s.push(session, name, make(content))
	}
	s.signal()
}

var mention = regexp.MustCompile(`<@!?([0-9]+)>`)

// mentioned are the users that a text names.
func (s *Server) mentioned(text string) []object {
	list := []object{}
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		if _, known := s.users[found[1]]; known {
			list = append(list, s.userObject(found[1]))
		}
	}
	return list
}

func (s *Server) names(m *Message, user string) bool {
	if target := s.messages[m.ReplyTo]; target != nil && target.Author == user {
		return true
	}
	for _, found := range mention.FindAllStringSubmatch(m.Text, -1) {
		if found[1] == user {
			return true
		}
	}
	return false
}
