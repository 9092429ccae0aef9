package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// body is what the bot sends for a message.
type body struct {
	Content   string `json:"content"`
	Nonce     any    `json:"nonce"`
	Enforce   bool   `json:"enforce_nonce"`
	Flags     int    `json:"flags"`
	Reference *struct {
		MessageID string `json:"message_id"`
		Strict    *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
	Mentions *struct {
		Parse []string `json:"parse"`
	} `json:"allowed_mentions"`
	Components []struct {
		Type       int `json:"type"`
		Components []struct {
			Type  int    `json:"type"`
			Label string `json:"label"`
			Data  string `json:"custom_id"`
		} `json:"components"`
	} `json:"components"`
	Enclosures []enclosure `json:"attachments"`
	Poll       *poll       `json:"poll"`

	files []File
}

// enclosure is what the bot says of one of its files.
type enclosure struct {
	ID       any     `json:"id"` // its place among them, as a number or a text
	Seconds  float64 `json:"duration_secs"`
	Waveform []byte  `json:"waveform"`
}

// What a message's flags say.
const (
	noPreviews = 1 << 2
	silent     = 1 << 12
	spoken     = 1 << 13
)

// What Discord takes of a message.
const (
	maxRunes  = 2000
	maxFiles  = 10
	maxFile   = 10 << 20
	maxNonce  = 25
	maxRow    = 5
	maxData   = 100
	maxLabel  = 80
	maxUpload = 26 << 20

	maxWaveform = 256
)

// readBody decodes and checks a message's body, and answers where it is wrong.
func readBody(w http.ResponseWriter, r *http.Request) (b body, ok bool) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "multipart/form-data":
		if err := b.readForm(http.MaxBytesReader(w, r.Body, maxUpload), r); err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
			return b, false
		}
	case json.NewDecoder(r.Body).Decode(&b) != nil:
		invalid(w, "body", "UNION_TYPE_CHOICES", "This is no message.")
		return b, false
	}
	switch {
	case b.Poll != nil && (r.Method != http.MethodPost || b.Poll.wrong()):
		invalid(w, "poll", "POLL_INVALID", "This poll is wrong.")
	case strings.TrimSpace(b.Content) == "" && len(b.files) == 0 && b.Poll == nil && r.Method == http.MethodPost:
		refuse(w, http.StatusBadRequest, 50006, "Cannot send an empty message")
	case utf8.RuneCountInString(b.Content) > maxRunes:
		invalid(w, "content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	case len(b.nonce()) > maxNonce:
		invalid(w, "nonce", "NONCE_TYPE_TOO_LONG", "This nonce is too long.")
	case b.wrongButtons() != "":
		invalid(w, "components", b.wrongButtons(), "These components are wrong.")
	case len(b.files) > maxFiles:
		refuse(w, http.StatusBadRequest, 30015, "Maximum number of attachments in a message reached (10)")
	case slices.ContainsFunc(b.files, func(f File) bool { return len(f.Content) > maxFile }):
		refuse(w, http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
	case b.Flags&spoken != 0 && r.Method == http.MethodPost:
		code, message := b.wrongVoice()
		if code == 0 {
			return b, true
		}
		refuse(w, http.StatusBadRequest, code, message)
	default:
		return b, true
	}
	return b, false
}

// wrongVoice is why a message is not taken as a voice message; zero: it is.
func (b body) wrongVoice() (code int, message string) {
	switch {
	case b.Content != "" || len(b.Components) > 0:
		return 50159, "Voice messages do not support additional content"
	case len(b.files) != 1 || !strings.HasPrefix(b.files[0].Type, "audio/"):
		return 50160, "Voice messages must have a single audio attachment"
	case len(b.Enclosures) != 1 || fmt.Sprint(b.Enclosures[0].ID) != "0", b.Enclosures[0].Seconds <= 0,
		len(b.Enclosures[0].Waveform) == 0, len(b.Enclosures[0].Waveform) > maxWaveform:
		return 50161, "Voice messages must have supporting metadata"
	default:
		return 0, ""
	}
}

// invalid answers with what is wrong with one field.
func invalid(w http.ResponseWriter, field, code, message string) {
	answer(w, http.StatusBadRequest, object{"code": 50035, "message": "Invalid Form Body", "errors": object{
		field: object{"_errors": []object{{"code": code, "message": message}}},
	}})
}

// readForm reads a body with files.
func (b *body) readForm(from io.Reader, r *http.Request) error {
	r.Body = io.NopCloser(from)
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FormName() == "payload_json" {
			if err := json.Unmarshal(content, b); err != nil {
				return err
			}
			continue
		}
		b.files = append(b.files, File{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Content: content})
	}
}

// nonce is a text or a number.
func (b body) nonce() string {
	switch n := b.Nonce.(type) {
	case string:
		return n
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	default:
		return ""
	}
}

// wrongButtons is the code of what Discord does not take of the buttons; empty: it takes them.
func (b body) wrongButtons() string {
	seen := map[string]bool{}
	if len(b.Components) > maxRow {
		return "BASE_TYPE_BAD_LENGTH"
	}
	for _, row := range b.Components {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > maxRow {
			return "BASE_TYPE_BAD_LENGTH"
		}
		for _, c := range row.Components {
			switch {
			case c.Label == "" || utf8.RuneCountInString(c.Label) > maxLabel || c.Data == "" || utf8.RuneCountInString(c.Data) > maxData:
				return "BASE_TYPE_BAD_LENGTH"
			case seen[c.Data]:
				return "COMPONENT_CUSTOM_ID_DUPLICATED"
			}
			seen[c.Data] = true
		}
	}
	return ""
}

// apply puts the body into a message.
func (b body) apply(m *Message) {
	m.Text, m.Buttons, m.NoPreviews = b.Content, nil, b.Flags&noPreviews != 0
	if b.Poll != nil {
		m.Poll = b.Poll.shown()
	}
	for _, row := range b.Components {
		for _, c := range row.Components {
			m.Buttons = append(m.Buttons, Button{c.Label, c.Data})
		}
	}
	if b.Mentions != nil {
		m.Mentions = b.Mentions.Parse
	}
}
