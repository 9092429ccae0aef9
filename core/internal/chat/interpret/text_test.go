package interpret

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: text-versions, text-copied.
func TestCommandText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/status":                              "/status",
		"hello":                                "hello",
		"[Dec 4 17:35] /status":                "/status",
		"[2026-01-13 07:45:10 UTC]/status":     "/status",
		"[12/4/24, 5:35 PM] /think high\nwhy?": "/think high\nwhy?",
		"[Telegram John +5m Fri 2024-03-15 14:30 EST] /status": "/status",
		"[Telegram John] [17:35] \n /status":                   "/status",
		"[whatsapp 1@g.us 2026-01-13T07:45Z] stop":             "stop",
		"[Dec 4 17:35]": "",

		"[Dec 4] /status":            "[Dec 4] /status",
		"[Telegram] /status":         "[Telegram] /status",
		"[17:35 /status":             "[17:35 /status",
		"[a\n17:35] /status":         "[a\n17:35] /status",
		"[x](http://a.example:8080)": "[x](http://a.example:8080)",
		"so [Dec 4 17:35] /status":   "so [Dec 4 17:35] /status",
		"[Dec 4 17:35] Anna: /reset": "Anna: /reset",
	} {
		if got := commandText(domain.Message{Text: text}); got != want {
			t.Errorf("commandText(%q) = %q, want %q", text, got, want)
		}
	}
	if got := commandText(domain.Message{Text: "/reset", Forwarded: &chat.Forward{From: "Anna"}}); got != "" {
		t.Errorf("a forwarded text has the command %q", got)
	}
}
