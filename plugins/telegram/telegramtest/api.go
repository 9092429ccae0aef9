package telegramtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What a message may hold.
const (
	maxText       = 4096  // UTF-16 code units
	maxCaption    = 1024  // UTF-16 code units
	maxRich       = 32768 // characters
	maxButtonData = 64    // bytes

	maxFile = 20 << 20 // bytes of a file that a bot may fetch
)

// reactions are some of those that a bot may use.
var reactions = []string{"👍", "👎", "❤", "🔥", "👀", "🎉", "🤔", "👌", "🙏", "✍", "⚡", "💯", "💔", "🫡"}

// call runs one method.
func (s *Server) call(ctx context.Context, method string, params map[string]string, files uploads) response {
	if strings.EqualFold(method, "getUpdates") {
		return s.getUpdates(ctx, params)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	switch strings.ToLower(method) {
	case "getme":
		me := s.bot.json()
		me["can_join_groups"], me["can_read_all_group_messages"] = true, true
		return succeeded(me)
	case "setwebhook":
		s.webhook = params["url"]
		return succeeded(true)
	case "deletewebhook":
		said := "Webhook is already deleted"
		if s.webhook != "" {
			said = "Webhook was deleted"
		}
		s.webhook = ""
		if params["drop_pending_updates"] == "true" {
			s.confirm(s.updates.lastID + 1)
		}
		return response{OK: true, Result: true, Description: said}
	case "getwebhookinfo":
		return succeeded(map[string]any{"url": s.webhook, "has_custom_certificate": false, "pending_update_count": len(s.updates.waiting)})
	case "sendmessage":
		return s.sendMessage(params, "text")
	case "sendrichmessage":
		return s.sendMessage(params, "rich_message")
	case "getchatadministrators":
		return s.getChatAdministrators(params)
	case "getchatmembercount":
		return s.getChatMemberCount(params)
	case "sendpoll":
		return s.sendPoll(params)
	case "sendphoto", "senddocument", "sendaudio", "sendvoice", "sendvideo":
		return s.sendFile(strings.ToLower(strings.TrimPrefix(strings.ToLower(method), "send")), params, files)
	case "sendmediagroup":
		return s.sendMediaGroup(params, files)
	case "sendmessagedraft", "sendrichmessagedraft":
		return s.sendMessageDraft(params)
	case "editmessagetext", "editmessagecaption", "editmessagereplymarkup":
		return s.editMessage(strings.TrimPrefix(strings.ToLower(method), "editmessage"), params)
	case "deletemessage":
		return s.deleteMessage(params)
	case "setmessagereaction":
		return s.setMessageReaction(params)
	case "pinchatmessage":
		return s.pinChatMessage(params, true)
	case "unpinchatmessage":
		return s.pinChatMessage(params, false)
	case "sendchataction":
		return s.sendChatAction(params)
	case "answercallbackquery":
		if !s.queries[params["callback_query_id"]] {
			return badRequest("query is too old and response timeout expired or query ID is invalid")
		}
		delete(s.queries, params["callback_query_id"])
		return succeeded(true)
	case "setmycommands":
		return s.setMyCommands(params)
	case "deletemycommands":
		return s.deleteMyCommands(params)
	case "getmycommands":
		return succeeded(append([]Command{}, s.commands...))
	case "getfile":
		content, ok := s.files[params["file_id"]]
		if !ok {
			return badRequest("wrong file_id or the file is temporarily unavailable")
		}
		if len(content) > maxFile {
			return badRequest("file is too big")
		}
		path := params["file_id"]
		return succeeded(map[string]any{"file_id": path, "file_unique_id": path, "file_size": len(content), "file_path": path})
	default:
		return failed(http.StatusNotFound, "Not Found")
	}
}

// download is what a request for a file is called in [Server.Calls] and [Server.Fail].
const download = "download"

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, path string) {
	params := map[string]string{"file_path": path}
	fault := s.takeFault(download)
	fault.delay(r.Context())
	if fault.instead != nil {
		s.record(download, params, true)
		fault.instead(w, r)
		return
	}
	s.mu.Lock()
	content, ok := s.files[path]
	s.mu.Unlock()
	s.record(download, params, !ok || fault.behind != nil)
	switch {
	case !ok:
		answer(w, failed(http.StatusNotFound, "Not Found"))
	case fault.behind != nil:
		// The connection ends within the file.
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.Write(content[:len(content)/2])
		w.(http.Flusher).Flush()
		fault.behind(w, r)
	default:
		w.Write(content)
	}
}

// chat is the chat that params name, if the bot can write there.
func (s *Server) chat(params map[string]string) (*chatState, response, bool) {
	if params["chat_id"] == "" {
		return nil, badRequest("chat_id is empty"), false
	}
	id, _ := strconv.ParseInt(params["chat_id"], 10, 64)
	c := s.chats[id]
	switch {
	case c == nil:
		return nil, badRequest("chat not found"), false
	case c.migratedTo != 0:
		r := badRequest("group chat was upgraded to a supergroup chat")
		r.Parameters = map[string]any{"migrate_to_chat_id": c.migratedTo}
		return nil, r, false
	case c.without != "":
		return nil, failed(http.StatusForbidden, c.without), false
	}
	return c, response{}, true
}

// sendMessage takes the text from the field text or rich_message.
func (s *Server) sendMessage(params map[string]string, field string) response {
	m, refusal, ok := s.begin(params)
	if !ok {
		return refusal
	}
	if r, ok := setContent(m, params, field); !ok {
		return r
	}
	return s.post(m)
}

// begin is a message of the bot's that is still to be filled and posted, if the bot may write where params say.
func (s *Server) begin(params map[string]string) (*Message, response, bool) {
	c, refusal, ok := s.chat(params)
	if !ok {
		return nil, refusal, false
	}
	if r, ok := s.limit.take(c.id, time.Now()); !ok {
		return nil, r, false
	}
	m := &Message{Chat: c.id, From: s.botID, Silent: params["disable_notification"] == "true", At: time.Now()}
	if thread := number(params, "message_thread_id", 0); thread != 0 {
		// The General topic cannot be named when sending.
		if _, known := c.topics[thread]; !known || thread == generalTopic {
			return nil, badRequest("message thread not found"), false
		}
		m.Thread = thread
	}
	if raw := params["reply_parameters"]; raw != "" {
		var reply struct {
			MessageID int32  `json:"message_id"`
			Without   bool   `json:"allow_sending_without_reply"`
			Quote     string `json:"quote"`
		}
		if err := json.Unmarshal([]byte(raw), &reply); err != nil {
			return nil, badRequest("can't parse reply parameters JSON object"), false
		}
		switch target := s.find(c.id, int(reply.MessageID)); {
		case target != nil:
			m.ReplyTo, m.Quote = int(reply.MessageID), reply.Quote
			m.Thread = target.Thread
		case !reply.Without:
			return nil, badRequest("message to be replied not found"), false
		}
	}
	return m, response{}, true
}

// post has the message appear in its chat.
func (s *Server) post(m *Message) response {
	s.lastID++
	m.ID = s.lastID
	s.messages = append(s.messages, m)
	delete(s.drafts, m.Chat)
	return succeeded(s.messageJSON(m))
}

// setContent takes text, entities and buttons from params: those of a text, of a rich message or of a caption, which may be
// empty.
func setContent(m *Message, params map[string]string, field string) (response, bool) {
	if field == "rich_message" {
		text, err := parseRich(params[field])
		if err != nil {
			return badRequest("%v", err), false
		}
		m.Text, m.Entities, m.Rich = text, nil, true
		return setButtons(m, params)
	}
	text := params[field]
	entities, most, tooLong := "entities", maxText, "message is too long"
	if field == "caption" {
		entities, most, tooLong = "caption_entities", maxCaption, "message caption is too long"
	} else if strings.TrimSpace(text) == "" {
		return badRequest("message text is empty"), false
	}
	if units(text) > most {
		return badRequest("%s", tooLong), false
	}
	looks, err := parseEntities(text, params[entities])
	if err != nil {
		return badRequest("%v", err), false
	}
	m.Text, m.Entities, m.Rich = text, looks, false
	return setButtons(m, params)
}

// parseRich returns the Markdown of a rich message. It is kept as it is; see [richMessage].
func parseRich(raw string) (string, error) {
	var rich struct {
		Markdown string `json:"markdown"`
	}
	err := json.Unmarshal([]byte(raw), &rich)
	switch {
	case err != nil:
		return "", errors.New("can't parse rich message JSON object")
	case strings.TrimSpace(rich.Markdown) == "":
		return "", errors.New("rich message is empty")
	case utf8.RuneCountInString(rich.Markdown) > maxRich:
		return "", errors.New("rich message is too long")
	}
	return rich.Markdown, nil
}

func parseEntities(text, raw string) ([]Entity, error) {
	var entities []Entity
	if raw != "" {
		if err := json.Unmarshal([]byte(raw), &entities); err != nil {
			return nil, errors.New("can't parse entities JSON object")
		}
	}
	return entities, checkEntities(text, entities)
}

// setButtons takes the buttons from params; without any the message has none.
func setButtons(m *Message, params map[string]string) (response, bool) {
	var markup struct {
		Keyboard [][]Button `json:"inline_keyboard"`
	}
	if raw := params["reply_markup"]; raw != "" {
		if err := json.Unmarshal([]byte(raw), &markup); err != nil {
			return badRequest("can't parse reply keyboard markup JSON object"), false
		}
	}
	for _, b := range slices.Concat(markup.Keyboard...) {
		switch {
		case b.Text == "":
			return badRequest("text buttons are unallowed in the inline keyboard"), false
		case b.Data == "" || len(b.Data) > maxButtonData:
			return badRequest("BUTTON_DATA_INVALID"), false
		}
	}
	m.Buttons = markup.Keyboard
	return response{}, true
}

// editMessage changes a message's text, caption or replymarkup.
func (s *Server) editMessage(what string, params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	if r, ok := s.limit.take(c.id, time.Now()); !ok {
		return r
	}
	m := s.find(c.id, number(params, "message_id", 0))
	switch {
	case m == nil:
		return badRequest("message to edit not found")
	case m.From != s.botID:
		return badRequest("message can't be edited")
	case what == "text" && m.Media != "":
		return badRequest("there is no text in the message to edit")
	case what == "caption" && m.Media == "":
		return badRequest("there is no caption in the message to edit")
	}
	if what == "text" && params["rich_message"] != "" {
		what = "rich_message"
	}
	edited := *m
	set := func() (response, bool) { return setContent(&edited, params, what) }
	if what == "replymarkup" {
		set = func() (response, bool) { return setButtons(&edited, params) }
	}
	if r, ok := set(); !ok {
		return r
	}
	if edited.Text == m.Text && edited.Rich == m.Rich && slices.EqualFunc(edited.Entities, m.Entities, sameEntity) &&
		slices.EqualFunc(edited.Buttons, m.Buttons, slices.Equal[[]Button]) {
		return badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	edited.Edits++
	*m = edited
	return succeeded(s.messageJSON(m))
}

func sameEntity(a, b Entity) bool {
	return a.Type == b.Type && a.Offset == b.Offset && a.Length == b.Length && a.URL == b.URL && a.Language == b.Language
}

func (s *Server) deleteMessage(params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	id := number(params, "message_id", 0)
	if line := slices.Index(c.pinLines, id); line >= 0 {
		c.pinLines = slices.Delete(c.pinLines, line, line+1)
		return succeeded(true)
	}
	m := s.find(c.id, id)
	if m == nil {
		return badRequest("message to delete not found")
	}
	s.messages = slices.DeleteFunc(s.messages, func(other *Message) bool { return other == m })
	return succeeded(true)
}

func (s *Server) setMessageReaction(params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	m := s.find(c.id, number(params, "message_id", 0))
	if m == nil {
		return badRequest("message to react not found")
	}
	var list []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if raw := params["reaction"]; raw != "" {
		if err := json.Unmarshal([]byte(raw), &list); err != nil {
			return badRequest("can't parse reaction types JSON object")
		}
	}
	emoji := ""
	if len(list) > 0 {
		emoji = list[0].Emoji
		if len(list) > 1 || list[0].Type != "emoji" || !slices.Contains(reactions, emoji) {
			return badRequest("REACTION_INVALID")
		}
	}
	m.Reaction = emoji
	return succeeded(true)
}

func (s *Server) sendChatAction(params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	thread := number(params, "message_thread_id", 0)
	if _, known := c.topics[thread]; thread != 0 && !known {
		return badRequest("message thread not found")
	}
	if params["action"] != "typing" {
		return badRequest("wrong parameter action in request")
	}
	return succeeded(true)
}
