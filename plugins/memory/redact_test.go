package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// a is so many letters that look random.
func a(n int) string { return strings.Repeat("aB3dE5fG7hJ9kL1mN", 1+n/17)[:n] }

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"an OpenAI key", "use sk-proj-" + a(40) + " for it", "use [removed] for it"},
		{"an Anthropic key", "sk-ant-api03-" + a(60), "[removed]"},
		{"a Stripe key", "sk_live_" + a(24) + ", you know", "[removed], you know"},
		{"a GitHub token", "ghp_" + a(36), "[removed]"},
		{"a fine-grained GitHub token", "github_pat_" + a(50), "[removed]"},
		{"a GitLab token", "glpat-" + a(20), "[removed]"},
		{"a Slack token", "xoxb-123456789012-" + a(24), "[removed]"},
		{"an AWS key id", "AKIAIOSFODNN7EXAMPLE is it", "[removed] is it"},
		{"an AWS secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [removed]"},
		{"a Google key", "AIza" + a(35), "[removed]"},
		{"a Telegram bot", "the token of the bot is 123456789:" + a(35), "the token of the bot is [removed]"},
		{"a Telegram bot without a word", "123456789:" + a(35), "[removed]"},
		{"a Discord bot", "M" + a(25) + "." + a(6) + "." + a(30), "[removed]"},
		{"a webhook", "https://hooks.slack.com/services/T000/B000/XXXX", "https://hooks.slack.com/services/[removed]"},
		{"a JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + a(43), "[removed]"},
		{"a bearer", "Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [removed]"},
		{"a URL's password", "postgres://anna:s3cret@db:5432/x", "postgres://anna:[removed]@db:5432/x"},
		{"a URL's parameter", "https://x.example/?a=1&api_key=abc123&b=2", "https://x.example/?a=1&api_key=[removed]&b=2"},
		{"a private key", "look:\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----\nthanks", "look:\n[removed]\nthanks"},
		{"half a private key", "-----BEGIN PRIVATE KEY-----\nabc\ndef", "[removed]"},
		{"a password", "password: hunter2", "password: [removed]"},
		{"a password in a sentence", "the Wi-Fi password is Sunshine, tell nobody", "the Wi-Fi password is [removed] tell nobody"},
		{"a password in quotes", `password="correct horse battery"`, "password=[removed]"},
		{"a password in JSON", `{"password": "a b", "user": "x"}`, `{"password": [removed], "user": "x"}`},
		{"a password without a verb", "my password hunter2 works", "my password [removed] works"},
		{"an environment variable", "export DB_PASSWORD=abc", "export DB_PASSWORD=[removed]"},
		{"a German password", "Das Passwort lautet Sonnenschein", "Das Passwort lautet [removed]"},
		{"a password of something", "The password for the guest Wi-Fi is Sunshine", "The password for the guest Wi-Fi is [removed]"},
		{"a German password of something", "Passwort fürs NAS und Passwort für das NAS: abc", "Passwort fürs NAS und Passwort für das NAS: [removed]"},
		{"another German password", "Kennwort: geheim", "Kennwort: [removed]"},
		{"a PIN", "PIN: 4711", "PIN: [removed]"},
		{"a PIN in a sentence", "the PIN code is 4711", "the PIN code is [removed]"},
		{"a seed phrase", "seed phrase: legal winner thank year wave", "seed phrase: [removed]"},
		{"a card", "4111 1111 1111 1111 until 12/29", "[removed] until 12/29"},
		{"a card with hyphens", "5500-0000-0000-0004", "[removed]"},
		{"an IBAN", "AT61 1904 3002 3457 3201", "[removed]"},
		{"long hexadecimal", "key " + strings.Repeat("0a1b2c3d", 8), "key [removed]"},
		{"long base64", a(44) + "=", "[removed]"},
		{"two secrets", "token=abc and token=def", "token=[removed] and token=[removed]"},

		{"a sentence", "We talked about the boiler and Mr. Huber.", ""},
		{"a telephone number", "call 0316 555 0142 or +43 660 1234567", ""},
		{"a date and a time", "on 2026-03-01 at 02:30, 14.02.2026", ""},
		{"a link", "https://pkg.go.dev/github.com/hashicorp/go-plugin@v1.8.0", ""},
		{"a path", "/home/anna/projects/bridge-tools/internal/sensors/import_readings_test.go", ""},
		{"a commit", "fixed in e6e25b0", ""},
		{"digits that are no card", "order 4111 1111 1111 1112", ""},
		{"a long name", "TestARestartedHostBeginsTheConversationsThatWereCutAgain", ""},
		{"a UUID", "123e4567-e89b-12d3-a456-426614174000", ""},
		{"the word alone", "I forgot my password again", ""},
		{"the word token", "it has a limit of 4000 tokens", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.want == "" {
				test.want = test.text
			}
			if got := redact(test.text); got != test.want {
				t.Errorf("redact(%q) = %q, want %q", test.text, got, test.want)
			}
			if again := redact(redact(test.text)); again != test.want {
				t.Errorf("redacted again it is %q", again)
			}
		})
	}
}

func TestRedactAConversation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/redact/conversation.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := redact(string(raw))
	const golden = "testdata/redact/conversation.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
