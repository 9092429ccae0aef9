package claude

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// parseShort reads into e the lines that come most: those that bring a text or a thought, whole or in pieces, or tell how far a
// block, a message, a turn, a line or the session is. It costs a fraction of what parseAny does, which takes all that this one
// does not know.
func parseShort(line []byte, e *event) bool {
	if !bytes.HasPrefix(line, []byte(`{"type":"`)) {
		return false
	}
	*e = event{}
	if !members(line, e.take) {
		return false
	}
	switch e.Type {
	case "stream_event":
		switch e.Stream.Type {
		case "content_block_delta":
			return e.Stream.Delta.Text != "" || e.Stream.Delta.Thinking != ""
		case "message_start":
			return e.Stream.Message != nil
		case "content_block_start", "content_block_stop", "message_delta", "message_stop":
			return true
		}
	case "assistant":
		return e.Message != nil
	case "system":
		return e.Subtype == "session_state_changed" || e.Subtype == "status" || e.Subtype == "init"
	case "command_lifecycle":
		return true
	}
	return false
}

// take takes a member of a line. Those that it does not look at matter in lines of other types only.
func (e *event) take(name, value []byte) bool {
	switch string(name) {
	case "type":
		return text(value, &e.Type)
	case "subtype":
		return text(value, &e.Subtype)
	case "uuid":
		return text(value, &e.UUID)
	case "state":
		return text(value, &e.State)
	case "command_uuid":
		return text(value, &e.Command)
	case "status":
		if string(value) == "null" {
			return true
		}
		e.Status = new(string)
		return text(value, e.Status)
	case "permissionMode":
		return text(value, &e.Mode)
	case "parent_tool_use_id":
		return string(value) == "null"
	case "event":
		return members(value, e.Stream.take)
	case "message":
		if e.Type != "assistant" {
			return false
		}
		if e.Message == nil {
			e.Message = new(message)
		}
		return members(value, e.Message.take)
	case "error":
		return text(value, &e.Error)
	default:
		return true
	}
}

// take takes a member of an event that is about a message or a block of it.
func (a *apiEvent) take(name, value []byte) bool {
	switch string(name) {
	case "type":
		return text(value, &a.Type)
	case "index":
		return true
	case "delta":
		return members(value, a.Delta.take)
	case "message":
		if a.Message == nil {
			a.Message = new(message)
		}
		return members(value, a.Message.take)
	case "usage":
		return members(value, a.Usage.take)
	case "content_block":
		return members(value, func(name, value []byte) bool {
			return string(name) != "type" || text(value, &a.Block.Type)
		})
	default:
		return false
	}
}

// take takes a member of a message that has nothing but a text, or nothing yet.
func (m *message) take(name, value []byte) bool {
	switch string(name) {
	case "id":
		return text(value, &m.ID)
	case "model":
		return text(value, &m.Model)
	case "stop_reason":
		return string(value) == "null" || text(value, &m.StopReason)
	case "usage":
		return members(value, m.Usage.take)
	case "content":
		return m.Content.takeText(value)
	default:
		return value[0] == '"' || string(value) == "null"
	}
}

// takeText takes a list of one text, or an empty one.
func (c *content) takeText(list []byte) bool {
	*c = content{}
	if string(list) == "[]" {
		return true
	}
	var b block
	if list[0] != '[' || !members(list[1:len(list)-1], b.take) || b.Type != "text" {
		return false
	}
	*c = content{b}
	return true
}

// take takes a member of a block of text.
func (b *block) take(name, value []byte) bool {
	switch string(name) {
	case "type":
		return text(value, &b.Type)
	case "text":
		return text(value, &b.Text)
	case "citations":
		return true
	default:
		return false
	}
}

// take takes a member of a usage. Those that it does not know are of no use here.
func (t *tokens) take(name, value []byte) bool {
	switch string(name) {
	case "input_tokens":
		return number(value, &t.Input)
	case "output_tokens":
		return number(value, &t.Output)
	case "cache_read_input_tokens":
		return number(value, &t.CacheRead)
	case "cache_creation_input_tokens":
		return number(value, &t.CacheCreation)
	default:
		return true
	}
}

// take takes a member of the delta of a text, a thought or a message.
func (d *delta) take(name, value []byte) bool {
	switch string(name) {
	case "stop_reason":
		return string(value) == "null" || text(value, &d.StopReason)
	case "stop_sequence":
		return true
	case "type":
		return text(value, &d.Type)
	case "text":
		return text(value, &d.Text)
	case "thinking":
		return text(value, &d.Thinking)
	default:
		return false
	}
}

// members goes through an object that is written without space, as the CLI does, with the names and the raw values of its
// members, until take returns false. It tells whether it came to the object's end. Numbers and words are not looked at.
func members(object []byte, take func(name, value []byte) bool) bool {
	rest, ok := bytes.CutPrefix(object, []byte("{"))
	for ok {
		name := rest[:length(rest)]
		if len(name) < 2 || name[0] != '"' || len(name) == len(rest) || rest[len(name)] != ':' {
			return false
		}
		rest = rest[len(name)+1:]
		value := rest[:length(rest)]
		if len(value) == 0 || len(value) == len(rest) || !take(name[1:len(name)-1], value) {
			return false
		}
		rest = rest[len(value):]
		if string(rest) == "}" {
			return true
		}
		rest, ok = bytes.CutPrefix(rest, []byte(","))
	}
	return false
}

// length is that of the JSON value at the beginning of data, or zero.
func length(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := quoted(data[i:])
			if end == 0 {
				return 0
			}
			if i += end - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return 0
}

// quoted is the length of the string at the beginning of data, with its quotes, or zero.
func quoted(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// text reads a string.
func text(value []byte, to *string) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	plain := value[1 : len(value)-1]
	if bytes.ContainsFunc(plain, func(r rune) bool { return r == '\\' || r < ' ' || r == utf8.RuneError }) {
		return json.Unmarshal(value, to) == nil
	}
	*to = string(plain)
	return true
}

// number reads a whole number.
func number(value []byte, to *int64) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	*to = n
	return err == nil
}
