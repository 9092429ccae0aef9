package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// bot is a client without a library: what it sends and gets is JSON as it is on the wire.
type bot struct {
	t *testing.T
	s *Server
}

func newBot(t *testing.T) bot {
	t.Helper()
	s := New(t)
	s.User("7", "anna")
	s.Direct("7", "70")
	s.Channel("900", "901", "general")
	return bot{t, s}
}

// call makes a REST call and returns its status and answer.
func (b bot) call(method, path, body string) (int, map[string]any) {
	b.t.Helper()
	return b.send(method, path, "application/json", strings.NewReader(body))
}

func (b bot) send(method, path, kind string, body io.Reader) (int, map[string]any) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.s.URL()+"/api/v9/"+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bot "+b.s.Token())
	request.Header.Set("Content-Type", kind)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer)
	return response.StatusCode, answer
}

func TestWhatDiscordRefuses(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	theirs := b.s.Say("70", "7", "hello")
	b.s.Forbid("901")
	for _, test := range []struct {
		method, path, body string
		status             int
		code               float64
	}{
		{"POST", "channels/70/messages", `{"content":" "}`, 400, 50006},
		{"POST", "channels/70/messages", `{"content":`, 400, 50035},
		{"POST", "channels/70/messages", `{"content":"` + strings.Repeat("ü", 2001) + `"}`, 400, 50035},
		{"POST", "channels/70/messages", `{"content":"` + strings.Repeat("ü", 2000) + `"}`, 200, 0},
		{"POST", "channels/70/messages", `{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`, 400, 50035},
		{"POST", "channels/70/messages", `{"content":"x","message_reference":{"message_id":"5"}}`, 400, 50035},
		{"POST", "channels/70/messages", `{"content":"x","message_reference":{"message_id":"5","fail_if_not_exists":false}}`, 200, 0},
		{"POST", "channels/70/messages", `{"content":"x","components":[{"type":1,"components":[]}]}`, 400, 50035},
		{"POST", "channels/70/messages", `{"content":"x","components":[{"type":1,"components":[{"type":2,"label":"l","custom_id":"c"},{"type":2,"label":"m","custom_id":"c"}]}]}`, 400, 50035},
		{"POST", "channels/71/messages", `{"content":"x"}`, 404, 10003},
		{"POST", "channels/x/messages", `{"content":"x"}`, 400, 50035},
		{"POST", "channels/901/messages", `{"content":"x"}`, 403, 50001},
		{"PATCH", "channels/70/messages/5", `{"content":"x"}`, 404, 10008},
		{"PATCH", "channels/70/messages/" + theirs, `{"content":"x"}`, 403, 50005},
		{"PUT", "channels/70/messages/" + theirs + "/reactions/x/@me", ``, 400, 10014},
		{"PUT", "channels/70/messages/" + theirs + "/reactions/%F0%9F%91%8D/@me", ``, 204, 0},
		{"PUT", "applications/" + ApplicationID + "/commands", `[{"name":"x"}]`, 400, 50035},
		{"POST", "interactions/5/t5/callback", `{"type":6}`, 404, 10062},
		{"PATCH", "webhooks/" + ApplicationID + "/t5/messages/@original", `{}`, 404, 10015},
	} {
		status, answer := b.call(test.method, test.path, test.body)
		if code, _ := answer["code"].(float64); status != test.status || code != test.code {
			t.Errorf("%s %s %.80s: %d %v, want %d and code %v", test.method, test.path, test.body, status, answer, test.status, test.code)
		}
	}
	response, err := http.Get(b.s.URL() + "/api/v9/users/@me")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request without a token gets %d", response.StatusCode)
	}
}

func TestNonces(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	say := func(nonce string, enforce bool) any {
		_, answer := b.call("POST", "channels/70/messages", fmt.Sprintf(`{"content":"x","nonce":%s,"enforce_nonce":%t}`, nonce, enforce))
		return answer["id"]
	}
	first := say(`"a"`, true)
	if say(`"a"`, true) != first || say(`"b"`, true) == first || say(`"a"`, false) == first {
		t.Error("a nonce is not what tells messages from each other, or without being asked to")
	}
	if seven := say(`7`, true); seven == nil || say(`"7"`, true) != seven {
		t.Error("a number is no nonce")
	}
	b.call("DELETE", fmt.Sprintf("channels/70/messages/%v", first), "")
	if id := say(`"b"`, true); id == nil {
		t.Error("another message is gone with the deleted one")
	}
}

func TestFilesOfBots(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	for _, test := range []struct{ files, bytes, status int }{{1, 0, 200}, {10, 10, 200}, {11, 10, 400}, {1, 10<<20 + 1, 413}, {3, 9 << 20, 413}} {
		var form bytes.Buffer
		writer := multipart.NewWriter(&form)
		if err := writer.WriteField("payload_json", `{"content":"files"}`); err != nil {
			t.Fatal(err)
		}
		for n := range test.files {
			file, err := writer.CreateFormFile(fmt.Sprintf("files[%d]", n), "f.bin")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = file.Write(make([]byte, test.bytes))
		}
		writer.Close()
		status, answer := b.send("POST", "channels/70/messages", writer.FormDataContentType(), &form)
		if attached, _ := answer["attachments"].([]any); status != test.status || status == 200 && len(attached) != test.files {
			t.Errorf("%d files of %d bytes: %d, %d attached", test.files, test.bytes, status, len(attached))
		}
	}
	if got := b.s.Replies("70"); len(got) != 2 || len(got[1].Files) != 10 || got[1].Files[9].Name != "f.bin" {
		t.Errorf("the bot sent %+v", got)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.s.Limit(2, time.Minute)
	for n, want := range []int{200, 200, 429} {
		status, answer := b.call("POST", "channels/70/messages", `{"content":"x"}`)
		after, _ := answer["retry_after"].(float64)
		if status != want || want == 429 && (after <= 50 || after > 60) {
			t.Errorf("message %d: %d %v", n, status, answer)
		}
	}
	if status, _ := b.call("POST", "channels/901/messages", `{"content":"x"}`); status != 200 || b.s.Refused() != 1 {
		t.Errorf("another channel gives %d; %d were too many", status, b.s.Refused())
	}
}

// gateway is a connection by hand.
type gateway struct {
	t  *testing.T
	ws *websocket.Conn
}

func (b bot) connect() gateway {
	b.t.Helper()
	_, found := b.call("GET", "gateway/bot", "")
	ws, response, err := websocket.DefaultDialer.DialContext(b.t.Context(), fmt.Sprint(found["url"])+"?v=9&encoding=json", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	response.Body.Close()
	b.t.Cleanup(func() { ws.Close() })
	g := gateway{b.t, ws}
	if op, _, _ := g.next(); op != 10 {
		b.t.Fatalf("the first word is %v", op)
	}
	return g
}

// next is the next frame: its operation, sequence and name.
func (g gateway) next() (op, seq float64, name string) {
	g.t.Helper()
	_ = g.ws.SetReadDeadline(time.Now().Add(10 * time.Second))
	var frame map[string]any
	if err := g.ws.ReadJSON(&frame); err != nil {
		if closed, ok := err.(*websocket.CloseError); ok {
			return -float64(closed.Code), 0, closed.Text
		}
		g.t.Fatal(err)
	}
	op, _ = frame["op"].(float64)
	seq, _ = frame["s"].(float64)
	name, _ = frame["t"].(string)
	return op, seq, name
}

func (g gateway) send(op int, d any) {
	g.t.Helper()
	if err := g.ws.WriteJSON(map[string]any{"op": op, "d": d}); err != nil {
		g.t.Fatal(err)
	}
}

// expect takes the next events.
func (g gateway) expect(names ...string) {
	g.t.Helper()
	for _, want := range names {
		if op, _, name := g.next(); name != want {
			g.t.Fatalf("operation %v brings %q, want %q", op, name, want)
		}
	}
}

func (b bot) identify(intents int) gateway {
	b.t.Helper()
	g := b.connect()
	g.send(2, map[string]any{"token": b.s.Token(), "intents": intents})
	return g
}

// everything are the intents that the server knows.
const everything = intentGuildMessages | intentGuildReactions | intentDirectMessages | intentContent

func TestSessions(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	g := b.identify(everything)
	g.expect("READY", "GUILD_CREATE")
	g.send(1, 2)
	if op, _, _ := g.next(); op != 11 {
		t.Fatalf("a heartbeat is answered by %v", op)
	}
	id := b.onlySession()
	b.s.Cut()
	b.s.Say("70", "7", "one")
	b.s.Say("70", "7", "two")
	again := b.connect()
	again.send(6, map[string]any{"token": b.s.Token(), "session_id": id, "seq": 3}) // The bot has the first message.
	again.expect("MESSAGE_CREATE", "RESUMED")
	ahead := b.connect()
	ahead.send(6, map[string]any{"token": b.s.Token(), "session_id": id, "seq": 99})
	if op, _, _ := ahead.next(); op != -4007 {
		t.Errorf("resuming from what never was is answered by %v", op)
	}
	again.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(time.Second))
	b.s.Await(t, "a session that its bot closed is gone", func() bool { return b.s.sessionCount() == 0 })
	last := b.connect()
	last.send(6, map[string]any{"token": b.s.Token(), "session_id": id, "seq": 3})
	if op, _, _ := last.next(); op != 9 {
		t.Errorf("resuming what is gone is answered by %v", op)
	}
}

// TestRefusedOperations: what a bot may not do then, or at all.
func TestRefusedOperations(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	twice := b.identify(everything)
	twice.expect("READY", "GUILD_CREATE")
	twice.send(2, map[string]any{"token": b.s.Token()})
	unknown := b.identify(everything)
	unknown.expect("READY", "GUILD_CREATE")
	unknown.send(99, nil)
	stranger := b.connect()
	stranger.send(3, nil)
	for want, of := range map[float64]gateway{-4005: twice, -4001: unknown, -4003: stranger} {
		if op, _, _ := of.next(); op != want {
			t.Errorf("answered by %v, want %v", op, want)
		}
	}
	b.s.LimitIdentify(time.Hour)
	early := b.identify(everything)
	if op, _, _ := early.next(); op != 9 || b.s.Early() != 1 {
		t.Errorf("a session that is begun too early is answered by %v, and counted %d times", op, b.s.Early())
	}
}

func (b bot) onlySession() string {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for id := range b.s.sessions {
		return id
	}
	return ""
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	g := b.connect()
	g.send(2, map[string]any{"token": "of another person"})
	if op, _, _ := g.next(); op != -4004 {
		t.Errorf("a wrong token is answered by %v", op)
	}
	b.s.RefuseWith(4014)
	if op, _, _ := b.identify(everything).next(); op != -4014 {
		t.Errorf("a refused bot is answered by %v", op)
	}
	b.s.Heal()
	b.s.LimitStarts(1)
	b.identify(everything).expect("READY")
	if op, _, _ := b.identify(everything).next(); op != -4004 {
		t.Errorf("one session too many is answered by %v", op)
	}
}

// TestIntents: a bot gets what it has asked for.
func TestIntents(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	g := b.identify(intentDirectMessages)
	g.expect("READY", "GUILD_CREATE")
	b.s.Say("901", "7", "not for the bot")
	id := b.s.Say("70", "7", "for the bot")
	b.s.Change(id, "still")
	g.expect("MESSAGE_CREATE", "MESSAGE_UPDATE")
}

// TestChaosIsOfItsSeed: the same seed is the same trouble.
func TestChaosIsOfItsSeed(t *testing.T) {
	t.Parallel()
	trace := func(seed uint64) string {
		b := newBot(t)
		b.s.Chaos(seed)
		var said strings.Builder
		for range 200 {
			status, answer := b.call("POST", "channels/70/typing", "")
			fmt.Fprintln(&said, status, answer["global"])
		}
		b.s.mu.Lock()
		defer b.s.mu.Unlock()
		for range 300 {
			fmt.Fprintln(&said, b.s.chaos.trouble())
		}
		return said.String()
	}
	first := trace(1)
	if trace(1) != first || trace(2) == first {
		t.Error("one seed is not one trouble, or two are")
	}
	for _, want := range []string{"0 <nil>", "429 false", "429 true", "502 ", "500 ", "204 "} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not among what happens", want)
		}
	}
	for what := none; what <= nonsense; what++ {
		if !strings.Contains(first, fmt.Sprintf("\n%d\n", what)) {
			t.Errorf("trouble %d is not among what happens", what)
		}
	}
}

// TestDisorder: nothing is lost by being late.
func TestDisorder(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	g := b.identify(everything)
	g.expect("READY", "GUILD_CREATE")
	b.s.mu.Lock()
	b.s.chaos = &chaos{dice: rand.New(rand.NewPCG(1, 1)), only: late}
	b.s.mu.Unlock()
	b.s.Disorder()
	const messages = 50
	said := map[string]bool{}
	for n := range messages {
		said[b.s.Say("70", "7", fmt.Sprint(n))] = true
	}
	b.s.Heal()
	swapped, before := 0, int64(0)
	for range messages {
		var frame struct{ D struct{ ID string } }
		if err := g.ws.ReadJSON(&frame); err != nil {
			t.Fatal(err)
		}
		if number(frame.D.ID) < before {
			swapped++
		}
		before = number(frame.D.ID)
		delete(said, frame.D.ID)
	}
	if len(said) > 0 || swapped == 0 {
		t.Errorf("%d messages were lost, %d came after later ones", len(said), swapped)
	}
}
