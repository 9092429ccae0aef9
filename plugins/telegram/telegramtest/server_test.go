package telegramtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// reply is an answer of the Bot API.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func (r reply) String() string {
	if r.OK {
		return "ok " + string(r.Result)
	}
	return fmt.Sprintf("%d %s", r.ErrorCode, r.Description)
}

// bot calls a method with names and values in turn.
func bot(ctx context.Context, s *telegramtest.Server, method string, params ...string) (reply, error) {
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	return post(ctx, s.URL()+"/bot"+s.Token()+"/"+method, form)
}

// client is the tests' own: a server of httptest that is closed closes the idle connections of the default one, under
// whoever is about to use them.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func post(ctx context.Context, address string, form url.Values) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	var r reply
	return r, json.NewDecoder(response.Body).Decode(&r)
}

func must(t *testing.T, s *telegramtest.Server, method string, params ...string) reply {
	t.Helper()
	r, err := bot(t.Context(), s, method, params...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return r
}

// texts polls and returns the ids and texts of the messages that came.
func texts(t *testing.T, s *telegramtest.Server, params ...string) (ids []int, texts []string) {
	t.Helper()
	r := must(t, s, "getUpdates", params...)
	var updates []struct {
		ID      int `json:"update_id"`
		Message struct {
			Text string `json:"text"`
		} `json:"message"`
	}
	if err := json.Unmarshal(r.Result, &updates); err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	for _, u := range updates {
		ids, texts = append(ids, u.ID), append(texts, u.Message.Text)
	}
	return ids, texts
}

func TestUpdatesStayUntilConfirmed(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	anna := s.User(7)
	anna.Send(0, "one")
	anna.Send(0, "two")
	for range 2 {
		if _, got := texts(t, s); !cmp.Equal(got, []string{"one", "two"}) {
			t.Fatalf("got %q", got)
		}
	}
	ids, _ := texts(t, s, "limit", "1")
	if len(ids) != 1 || s.Pending() != 2 {
		t.Fatalf("limit 1 gave %v, %d pending", ids, s.Pending())
	}
	if _, got := texts(t, s, "offset", fmt.Sprint(ids[0]+1)); !cmp.Equal(got, []string{"two"}) {
		t.Fatalf("after the first was confirmed: %q", got)
	}
	if s.Confirmed() != ids[0] {
		t.Fatalf("confirmed %d, want %d", s.Confirmed(), ids[0])
	}
	texts(t, s, "offset", fmt.Sprint(ids[0]+2))
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLongPollWakes(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	got := make(chan reply, 1)
	go func() {
		r, _ := bot(t.Context(), s, "getUpdates", "timeout", "50")
		got <- r
	}()
	if err := s.AwaitPoll(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.User(7).Send(0, "wake")
	if r := <-got; !strings.Contains(string(r.Result), "wake") {
		t.Errorf("got %v", r)
	}
}

func TestSecondPollerEndsTheFirst(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	first := make(chan reply, 1)
	go func() {
		r, _ := bot(t.Context(), s, "getUpdates", "timeout", "50")
		first <- r
	}()
	if err := s.AwaitPoll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := must(t, s, "getUpdates"); !r.OK {
		t.Errorf("second poller: %v", r)
	}
	if r := <-first; r.ErrorCode != http.StatusConflict {
		t.Errorf("first poller: %v", r)
	}
	must(t, s, "setWebhook", "url", "https://hook.example")
	if r := must(t, s, "getUpdates"); r.ErrorCode != http.StatusConflict {
		t.Errorf("poll beside a webhook: %v", r)
	}
	must(t, s, "deleteWebhook")
	if r := must(t, s, "getUpdates"); !r.OK {
		t.Errorf("poll after deleteWebhook: %v", r)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	anna := s.User(7)
	s.User(8).Block()
	s.Forum(-100, "forum")
	topic := s.Topic(anna, -100, "plans")
	s.SmallGroup(-5, "small")
	s.Migrate(anna, -5, -1005)
	said := anna.Send(0, "hello")
	sent := must(t, s, "sendMessage", "chat_id", "7", "text", "answer")
	var message struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(sent.Result, &message); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(message.ID)
	for _, c := range []struct {
		name, method string
		params       []string
		want         string
	}{
		{"unknown method", "sendTelepathy", nil, "404 Not Found"},
		{"unknown chat", "sendMessage", []string{"chat_id", "99", "text", "x"}, "400 Bad Request: chat not found"},
		{"blocked", "sendMessage", []string{"chat_id", "8", "text", "x"}, "403 Forbidden: bot was blocked by the user"},
		{"migrated", "sendMessage", []string{"chat_id", "-5", "text", "x"}, "400 Bad Request: group chat was upgraded to a supergroup chat"},
		{"empty", "sendMessage", []string{"chat_id", "7", "text", " \n"}, "400 Bad Request: message text is empty"},
		{"longest", "sendMessage", []string{"chat_id", "7", "text", strings.Repeat("😀", 2048)}, "ok"},
		{"too long", "sendMessage", []string{"chat_id", "7", "text", strings.Repeat("😀", 2048) + "x"}, "400 Bad Request: message is too long"},
		{
			"entity in a character", "sendMessage",
			[]string{"chat_id", "7", "text", "😀b", "entities", `[{"type":"bold","offset":1,"length":1}]`},
			"400 Bad Request: entity begins in a middle of a UTF-16 symbol at UTF-16 offset 1",
		},
		{
			"entity beyond the text", "sendMessage",
			[]string{"chat_id", "7", "text", "b", "entities", `[{"type":"bold","offset":0,"length":2}]`},
			"400 Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 2",
		},
		{
			"code in bold", "sendMessage",
			[]string{"chat_id", "7", "text", "abc", "entities", `[{"type":"bold","offset":0,"length":3},{"type":"code","offset":1,"length":1}]`},
			`400 Bad Request: entity "code" at UTF-16 offset 1 must not lie in "bold"`,
		},
		{
			"a link that Telegram refuses", "sendMessage",
			[]string{"chat_id", "7", "text", "abc", "entities", `[{"type":"text_link","offset":0,"length":3,"url":"http://localhost"}]`},
			`400 Bad Request: wrong message entity: wrong HTTP URL "http://localhost"`,
		},
		{"topic", "sendMessage", []string{"chat_id", "-100", "text", "x", "message_thread_id", fmt.Sprint(topic)}, "ok"},
		{"General by its number", "sendMessage", []string{"chat_id", "-100", "text", "x", "message_thread_id", "1"}, "400 Bad Request: message thread not found"},
		{"typing in General", "sendChatAction", []string{"chat_id", "-100", "action", "typing", "message_thread_id", "1"}, "ok"},
		{"reply to nothing", "sendMessage", []string{"chat_id", "7", "text", "x", "reply_parameters", `{"message_id":1}`}, "400 Bad Request: message to be replied not found"},
		{"reply or not", "sendMessage", []string{"chat_id", "7", "text", "x", "reply_parameters", `{"message_id":1,"allow_sending_without_reply":true}`}, "ok"},
		{"button data", "sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", `{"inline_keyboard":[[{"text":"b","callback_data":"` + strings.Repeat("d", 65) + `"}]]}`}, "400 Bad Request: BUTTON_DATA_INVALID"},
		{"edit to the same", "editMessageText", []string{"chat_id", "7", "message_id", id, "text", "answer"}, "400 Bad Request: message is not modified"},
		{"edit", "editMessageText", []string{"chat_id", "7", "message_id", id, "text", "better"}, "ok"},
		{"edit of another's", "editMessageText", []string{"chat_id", "7", "message_id", fmt.Sprint(said.ID), "text", "x"}, "400 Bad Request: message can't be edited"},
		{"new buttons", "editMessageReplyMarkup", []string{"chat_id", "7", "message_id", id, "reply_markup", `{"inline_keyboard":[[{"text":"b","callback_data":"d"}]]}`}, "ok"},
		{"the same buttons", "editMessageReplyMarkup", []string{"chat_id", "7", "message_id", id, "reply_markup", `{"inline_keyboard":[[{"text":"b","callback_data":"d"}]]}`}, "400 Bad Request: message is not modified"},
		{"caption of a text", "editMessageCaption", []string{"chat_id", "7", "message_id", id, "caption", "x"}, "400 Bad Request: there is no caption in the message to edit"},
		{"to a rich message", "editMessageText", []string{"chat_id", "7", "message_id", id, "rich_message", `{"markdown":"# x"}`}, "ok"},
		{"rich and empty", "sendRichMessage", []string{"chat_id", "7", "rich_message", `{"markdown":" "}`}, "400 Bad Request: rich message is empty"},
		{"no file", "sendPhoto", []string{"chat_id", "7", "photo", "https://a.example/b.png"}, "400 Bad Request: there is no photo in the request"},
		{"an album of one", "sendMediaGroup", []string{"chat_id", "7", "media", `[{"type":"photo","media":"attach://a"}]`}, "400 Bad Request: group must have 2-10 items"},
		{"an album without files", "sendMediaGroup", []string{"chat_id", "7", "media", `[{"type":"photo","media":"attach://a"},{"type":"photo","media":"attach://b"}]`}, "400 Bad Request: item 0 of the group has no file"},
		{"draft", "sendMessageDraft", []string{"chat_id", "7", "draft_id", "3", "text", ""}, "ok"},
		{"draft without an id", "sendMessageDraft", []string{"chat_id", "7", "draft_id", "0", "text", "x"}, "400 Bad Request: draft_id must be non-zero"},
		{"draft in a group", "sendMessageDraft", []string{"chat_id", "-100", "draft_id", "3", "text", "x"}, "400 Bad Request: drafts can be sent to private chats only"},
		{"draft that is too long", "sendMessageDraft", []string{"chat_id", "7", "draft_id", "3", "text", strings.Repeat("x", 4097)}, "400 Bad Request: message is too long"},
		{"answer to no query", "answerCallbackQuery", []string{"callback_query_id", "1"}, "400 Bad Request: query is too old"},
		{"react", "setMessageReaction", []string{"chat_id", "7", "message_id", fmt.Sprint(said.ID), "reaction", `[{"type":"emoji","emoji":"👀"}]`}, "ok"},
		{"react with what is no reaction", "setMessageReaction", []string{"chat_id", "7", "message_id", fmt.Sprint(said.ID), "reaction", `[{"type":"emoji","emoji":"x"}]`}, "400 Bad Request: REACTION_INVALID"},
		{"delete", "deleteMessage", []string{"chat_id", "7", "message_id", id}, "ok"},
		{"delete again", "deleteMessage", []string{"chat_id", "7", "message_id", id}, "400 Bad Request: message to delete not found"},
	} {
		// In order: the cases build on one another.
		if got := must(t, s, c.method, c.params...).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if r, err := post(t.Context(), s.URL()+"/bot1:wrong/getMe", nil); err != nil || r.ErrorCode != http.StatusUnauthorized {
		t.Errorf("wrong token: %v %v", r, err)
	}
	if messages := s.Messages(7); messages[0].Reaction != "👀" {
		t.Errorf("no reaction on %+v", messages[0])
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	send := func(text string) (reply, error) {
		return bot(t.Context(), s, "sendMessage", "chat_id", "7", "text", text)
	}
	s.Fail("sendMessage", 1, telegramtest.TooManyRequests(3*time.Second))
	s.Fail("sendMessage", 1, telegramtest.NotJSON(http.StatusBadGateway))
	s.Fail("sendMessage", 1, telegramtest.CutBefore())
	s.Fail("sendMessage", 1, telegramtest.CutAfter())
	if r, err := send("limited"); err != nil || r.ErrorCode != http.StatusTooManyRequests || r.Parameters.RetryAfter != 3 {
		t.Errorf("429: %v %v", r, err)
	}
	for _, text := range []string{"no JSON", "cut before", "cut after"} {
		if r, err := send(text); err == nil {
			t.Errorf("%s: %v", text, r)
		}
	}
	if r, err := send("well"); err != nil || !r.OK {
		t.Errorf("after the faults: %v %v", r, err)
	}
	var got []string
	for _, m := range s.Replies(7) {
		got = append(got, m.Text)
	}
	if diff := cmp.Diff([]string{"cut after", "well"}, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	if calls := s.Calls("sendMessage"); len(calls) != 5 || !calls[3].Failed || calls[4].Failed {
		t.Errorf("calls %+v", calls)
	}
	gate := make(chan struct{})
	s.Fail("sendMessage", 1, telegramtest.Stalled(gate))
	stalled := make(chan error)
	go func() {
		_, err := send("stalled")
		stalled <- err
	}()
	select {
	case err := <-stalled:
		t.Errorf("it was not stalled: %v", err)
	case <-time.After(20 * time.Millisecond):
		close(gate)
		if err := <-stalled; err != nil {
			t.Error(err)
		}
	}
	s.Down()
	if r, err := send("down"); err == nil {
		t.Errorf("down: %v", r)
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	if r, err := send("up"); err != nil || !r.OK {
		t.Errorf("up again: %v %v", r, err)
	}
}

func TestUpdatesAreShapedLikeTelegrams(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	anna := s.User(7)
	s.Forum(-100, "forum")
	s.Group(-200, "group")
	topic := s.Topic(anna, -100, "plans")
	anna.Post(telegramtest.Post{Chat: -100, Thread: topic, Text: "😀 /go@claw_bot @claw_bot"})
	first := anna.Send(-200, "first")
	anna.Post(telegramtest.Post{Chat: -200, Text: "second", ReplyTo: first.ID, Media: "photo", File: []byte("pixels")})
	var updates []struct {
		Message struct {
			Thread   int                   `json:"message_thread_id"`
			IsTopic  bool                  `json:"is_topic_message"`
			Entities []telegramtest.Entity `json:"entities"`
			Caption  string                `json:"caption"`
			Photo    []struct {
				ID string `json:"file_id"`
			} `json:"photo"`
			ReplyTo struct {
				ID int `json:"message_id"`
			} `json:"reply_to_message"`
		} `json:"message"`
	}
	if err := json.Unmarshal(must(t, s, "getUpdates").Result, &updates); err != nil || len(updates) != 4 {
		t.Fatalf("%d updates, %v", len(updates), err)
	}
	inTopic, answer := updates[1].Message, updates[3].Message
	want := []telegramtest.Entity{{Type: "bot_command", Offset: 3, Length: 12}, {Type: "mention", Offset: 16, Length: 9}}
	if diff := cmp.Diff(want, inTopic.Entities); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
	if inTopic.Thread != topic || !inTopic.IsTopic || inTopic.ReplyTo.ID != topic {
		t.Errorf("in a topic: %+v", inTopic)
	}
	if answer.Thread != first.ID || answer.IsTopic || answer.ReplyTo.ID != first.ID || answer.Caption != "second" {
		t.Errorf("a reply in a group: %+v", answer)
	}
	var file struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(must(t, s, "getFile", "file_id", answer.Photo[1].ID).Result, &file); err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(s.URL() + "/file/bot" + s.Token() + "/" + file.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if content, err := io.ReadAll(response.Body); err != nil || string(content) != "pixels" {
		t.Errorf("downloaded %q, %v", content, err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	anna := s.User(7)
	anna.Post(telegramtest.Post{Media: "document", File: []byte("content")})
	anna.Post(telegramtest.Post{Media: "document", File: make([]byte, 20<<20+1)})
	file := must(t, s, "getFile", "file_id", "documents/file_1")
	if !strings.Contains(string(file.Result), `"file_path":"documents/file_1"`) || !strings.Contains(string(file.Result), `"file_size":7`) {
		t.Errorf("getFile: %s", file)
	}
	for id, want := range map[string]string{
		"documents/file_2": "400 Bad Request: file is too big", "x": "400 Bad Request: wrong file_id or the file is temporarily unavailable",
	} {
		if got := must(t, s, "getFile", "file_id", id); got.String() != want {
			t.Errorf("getFile %s: %s, want %s", id, got, want)
		}
	}
	fetch := func(path string) (int, string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		return response.StatusCode, string(content), err
	}
	path := "/file/bot" + s.Token() + "/documents/file_1"
	if code, content, err := fetch(path); code != http.StatusOK || content != "content" || err != nil {
		t.Errorf("%d %q, %v", code, content, err)
	}
	if code, _, err := fetch(path + "0"); code != http.StatusNotFound || err != nil {
		t.Errorf("a file that is not there: %d, %v", code, err)
	}
	s.Fail("download", 1, telegramtest.CutAfter())
	if _, content, err := fetch(path); err == nil || content != "con" {
		t.Errorf("a connection that is cut within the file gives %q, %v", content, err)
	}
	if calls := s.Calls("download"); len(calls) != 3 || calls[0].Failed || !calls[1].Failed || !calls[2].Failed {
		t.Errorf("downloads: %+v", calls)
	}
}

func TestLimitSends(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	s.User(7)
	s.User(8)
	s.LimitSends(2, time.Hour)
	var waits []int
	for range 4 {
		waits = append(waits, must(t, s, "sendMessage", "chat_id", "7", "text", "x").Parameters.RetryAfter)
	}
	if waits[0] != 0 || waits[1] != 0 || waits[2] < 3590 || waits[3] != waits[2]+1 {
		t.Errorf("to wait %v: want nothing twice, then an hour, then more than that", waits)
	}
	if r := must(t, s, "sendMessage", "chat_id", "8", "text", "x"); !r.OK {
		t.Errorf("another chat: %v", r)
	}
	s.LimitSends(0, 0)
	if r := must(t, s, "sendMessage", "chat_id", "7", "text", "x"); !r.OK || len(s.Replies(7)) != 3 {
		t.Errorf("without the limit: %v, %d messages", r, len(s.Replies(7)))
	}
}

// TestChaos: what goes wrong is no other with the same seed, and nothing is lost by it.
func TestChaos(t *testing.T) {
	t.Parallel()
	trouble := func(seed uint64) string {
		s := telegramtest.New(t)
		s.User(7).Send(0, "hello")
		s.Chaos(seed, 0.5)
		var happened []string
		for i := range 40 {
			r, err := bot(t.Context(), s, "sendMessage", "chat_id", "7", "text", fmt.Sprint(i))
			happened = append(happened, fmt.Sprint(err == nil, r.ErrorCode))
		}
		s.Heal()
		if _, got := texts(t, s); !cmp.Equal(got, []string{"hello"}) {
			t.Errorf("updates %q", got)
		}
		if n := len(s.Replies(7)); n == 0 || n == 40 {
			t.Errorf("%d of 40 messages arrived", n)
		}
		return strings.Join(happened, " ")
	}
	first := trouble(1)
	if again := trouble(1); again != first {
		t.Errorf("the same seed gives\n%s\nand\n%s", first, again)
	}
	if other := trouble(2); other == first {
		t.Errorf("another seed gives the same: %s", other)
	}
}

// TestChaosOfPolls: updates come again, in another order and with garbage between them.
func TestChaosOfPolls(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	anna := s.User(7)
	var first int
	for i := range 5 {
		m := anna.Send(0, fmt.Sprint(i))
		if i == 0 {
			first = m.Update
		}
	}
	s.Chaos(3, 0.4)
	seen := map[string]bool{}
	for range 40 {
		r, err := bot(t.Context(), s, "getUpdates", "offset", fmt.Sprint(first+2))
		if err != nil || !r.OK {
			continue
		}
		var updates []struct {
			ID      int             `json:"update_id"`
			Message json.RawMessage `json:"message"`
		}
		if err := json.Unmarshal(r.Result, &updates); err != nil {
			t.Fatal(err)
		}
		for i, u := range updates {
			seen["again"] = seen["again"] || u.ID < first+2
			seen["disorder"] = seen["disorder"] || i > 0 && u.ID < updates[i-1].ID
			seen["garbage"] = seen["garbage"] || strings.Contains(string(u.Message), "garbage")
		}
	}
	if !seen["again"] || !seen["disorder"] || !seen["garbage"] {
		t.Errorf("seen: %v", seen)
	}
}
