package discordtest

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"
)

// TestVoiceMessages are taken as Discord takes them: one sound with its length and its waveform, and nothing else.
func TestVoiceMessages(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.s.ForbidVoices("901")
	said := `"flags":8192,"attachments":[{"id":"0","duration_secs":1.5,"waveform":"AP8="}]`
	for _, test := range []struct {
		channel, message string
		types            []string // of the files
		code             float64  // zero: it is taken
	}{
		{"70", said, []string{"audio/ogg"}, 0},
		{"70", said + `,"message_reference":{"message_id":"5","fail_if_not_exists":false}`, []string{"audio/mpeg"}, 0},
		{"70", strings.Replace(said, `"0"`, "0", 1), []string{"audio/ogg; codecs=opus"}, 0},
		{"70", said + `,"content":"listen"`, []string{"audio/ogg"}, 50159},
		{"70", said + `,"components":[{"type":1,"components":[{"type":2,"label":"l","custom_id":"c"}]}]`, []string{"audio/ogg"}, 50159},
		{"70", said + `,"content":"listen"`, nil, 50159},
		{"70", said, []string{"audio/ogg", "audio/ogg"}, 50160},
		{"70", said, []string{"application/octet-stream"}, 50160},
		{"70", `"flags":8192`, []string{"audio/ogg"}, 50161},
		{"70", strings.Replace(said, "1.5", "0", 1), []string{"audio/ogg"}, 50161},
		{"70", strings.Replace(said, "AP8=", "", 1), []string{"audio/ogg"}, 50161},
		{"70", strings.Replace(said, "AP8=", strings.Repeat("AAAA", 86), 1), []string{"audio/ogg"}, 50161},
		{"70", strings.Replace(said, `"0"`, `"1"`, 1), []string{"audio/ogg"}, 50161},
		{"901", said, []string{"audio/ogg"}, 50173},
		{"901", strings.Replace(said, "8192", "0", 1), []string{"audio/ogg"}, 0},
	} {
		var form bytes.Buffer
		writer := multipart.NewWriter(&form)
		if err := writer.WriteField("payload_json", "{"+test.message+"}"); err != nil {
			t.Fatal(err)
		}
		for i, mimeType := range test.types {
			part, err := writer.CreatePart(textproto.MIMEHeader{
				"Content-Disposition": {fmt.Sprintf(`form-data; name="files[%d]"; filename="v.ogg"`, i)}, "Content-Type": {mimeType},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = part.Write([]byte("OggS"))
		}
		writer.Close()
		status, answer := b.send("POST", "channels/"+test.channel+"/messages", writer.FormDataContentType(), &form)
		if code, _ := answer["code"].(float64); code != test.code || (status == 200) != (code == 0) {
			t.Errorf("%.120s with %q: %d %v, want code %v", test.message, test.types, status, answer, test.code)
		}
	}
	voice := b.s.Replies("70")[0]
	status, answer := b.call("PATCH", "channels/70/messages/"+voice.ID, `{"content":"x"}`)
	if voice.Voice == nil || voice.Voice.Seconds != 1.5 || status != 400 || answer["code"] != 50162.0 {
		t.Errorf("of %+v an edit gives %d %v", voice.Voice, status, answer)
	}
	_, answer = b.call("GET", "channels/70/messages/"+voice.ID, "")
	attached := answer["attachments"].([]any)[0].(map[string]any)
	if answer["flags"] != 8192.0 || attached["duration_secs"] != 1.5 || attached["waveform"] != "AP8=" {
		t.Errorf("it is shown as %v", answer)
	}
}
