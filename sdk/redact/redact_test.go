package redact_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/redact"
)

// a returns n characters that look random.
func a(n int) string { return strings.Repeat("aB3dE5fG7hJ9kL1mN", 1+n/17)[:n] }

const hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// Behaviour: memory-secrets.
func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"an OpenAI key", "use sk-proj-" + a(40) + " for it", "use [x] for it"},
		{"an OpenAI key of old", "sk-" + a(48), "[x]"},
		{"an Anthropic key", "sk-ant-api03-" + a(60), "[x]"},
		{"a short Anthropic key", "sk-ant-api03-abc_DEF", "[x]"},
		{"a Stripe key", "sk_live_" + a(24) + ", you know", "[x], you know"},
		{"a GitHub token", "ghp_" + a(36), "[x]"},
		{"a fine-grained GitHub token", "github_pat_" + a(50), "[x]"},
		{"a GitLab token", "glpat-" + a(20), "[x]"},
		{"a Slack token", "xoxb-123456789012-" + a(24), "[x]"},
		{"an AWS key id", "AKIAIOSFODNN7EXAMPLE is it", "[x] is it"},
		{"an AWS secret", "aws_secret_access_key = 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", "aws_secret_access_key = [x]"},
		{"a Google key", "AIza" + a(35), "[x]"},
		{"a Telegram bot", "the bot is 123456789:" + a(35), "the bot is [x]"},
		{"a Discord bot", "M" + a(25) + "." + a(6) + "." + a(30), "[x]"},
		{"a Slack webhook", "https://hooks.slack.com/services/T000/B000/XXXX", "https://hooks.slack.com/services/[x]"},
		{"a Discord webhook", "see https://discord.com/api/webhooks/123/abc-def.", "see https://discord.com/api/webhooks/[x]."},
		{"a JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + a(43), "[x]"},
		{"a header", "Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [x]"},
		{"a header of another kind", `"authorization": "abc123"`, `"authorization": "[x]"`},
		{"a bearer", "with bearer abcdef.ghi-jk", "with bearer [x]"},
		{"basic credentials", "Basic dXNlcjpwYXNz", "Basic [x]"},
		{"an address's password", "postgres://anna:s3cret@db:5432/x", "postgres://anna:[x]@db:5432/x"},
		{"a private key", "look:\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----\nthanks", "look:\n[x]\nthanks"},
		{"half a private key", "-----BEGIN PRIVATE KEY-----\nabc\ndef", "[x]"},
		{"a card", "4111 1111 1111 1111 until 12/29", "[x] until 12/29"},
		{"a card with hyphens", "5500-0000-0000-0004", "[x]"},
		{"an IBAN", "AT61 1904 3002 3457 3201", "[x]"},
		{"hexadecimal", "key " + hex + ".", "key [x]."},
		{"hexadecimal in capitals", strings.ToUpper(hex[:32]), "[x]"},
		{"a commit in full, which looks like a key", "fixed in " + hex[:40], "fixed in [x]"},
		{"base64", a(44) + "=", "[x]"},
		{"base64 for addresses", "t=Zx9_kQ2vLr8-Pn5dWq7Yt3Bm1Cs6Hf4Gj", "t=[x]"},
		{"a picture in base64", "data:image/png;base64," + a(80) + "==", "data:image/png;base64,[x]"},
		{"small letters and digits", "k3j9x0p2m4n8q1z7w5v6t8r2", "[x]"},
		{"base32", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "[x]"},
		{"an id in an address", "https://docs.example/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit", "https://docs.example/document/d/[x]/edit"},
		{"a made password", "it is xK9#mQ2$vL7p, tell nobody", "it is [x], tell nobody"},
		{"a made password at the end", "Tr0ub4dor&3x!", "[x]!"},
		{"two secrets", "a=" + a(24) + " b=" + a(30), "a=[x] b=[x]"},
		{"in another language", "das Passwort lautet xK9#mQ2$vL7p, 密码是 ghp_" + a(36) + "。", "das Passwort lautet [x], 密码是 [x]。"},

		{"nothing", "", ""},
		{"a sentence", "We talked about the boiler and Mr. Huber.", ""},
		{"a password that is a word", "the password is Sunshine", ""},
		{"a telephone number", "call 0316 555 0142 or +43 660 1234567", ""},
		{"a date and a time", "on 2026-03-01 at 02:30, 14.02.2026, 2026-03-01T02:30:00Z", ""},
		{"a link", "https://pkg.go.dev/github.com/hashicorp/go-plugin@v1.8.0", ""},
		{"a link with a query", "https://shop.example/Search?Query=Bosch%20GSR%2018&Page=2&sortBy=Price_asc#Top1", ""},
		{"a video", "https://youtu.be/dQw4w9WgXcQ?t=42", ""},
		{"a path", "/home/anna/projects/bridge-tools/internal/sensors/import_readings_test.go", ""},
		{"a path with capitals and digits", "/Users/Anna/Projects/App2/Build/x86_64/Debug-iphonesimulator17/Foo3.o", ""},
		{"a path on Windows", `C:\Users\Anna2\AppData\Local\Programs\Python312\Lib`, ""},
		{"a short commit", "fixed in e6e25b0", ""},
		{"a version", "v0.0.0-20260301123456-e6e25b0d1f2a", ""},
		{"digits that are no card", "order 4111 1111 1111 1112", ""},
		{"a long name", "TestARestartedHostBeginsTheConversationsThatWereCutAgain", ""},
		{"a long name with a digit", "TestARestartedHostBegins2ndConversationsAgain", ""},
		{"a name with abbreviations", "getHTTPResponseCode2XXFromURLv3", ""},
		{"a constant", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC_V2", ""},
		{"a long word", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", ""},
		{"a compound", "Kraftfahrzeug-Haftpflichtversicherung-2026-Abrechnungszeitraum", ""},
		{"a UUID", "123e4567-e89b-12d3-a456-426614174000", ""},
		{"a picture's name", "IMG_20260301_123456.jpg, Screenshot-2026-03-01-at-12.30.45.png, PXL_20260301_071234567.MP.jpg", ""},
		{"a request of the API", "request_id: req_011CSHoEeqs5C35K2UUqR7Fy", ""},
		{"an address of mail", "Anna.Huber2+News@mail.Example5.com", ""},
		{"a formula", "=SUM(A1:B2)*C3+D4, 2x^2+3y", ""},
		{"code", "if (!x && y[0] != nil) { return fmt.Errorf(\"%5.2f%%\", 1e3) }", ""},
		{"Markdown", "**Bold1**, ~~Gone2~~ and #Tag3", ""},
		{"basic words", "a bearer certificate, Basic Instinct and Basic JavaScript", ""},
		{"a header's variable", `Authorization: Bearer $TOKEN, { Authorization = env("A1") }, authorization: required`, ""},
		{"a hyphenated word", "sk-learn-and-other-libraries", ""},
		{"a repetition", strings.Repeat("aB1", 20), ""},
		{"zeros", strings.Repeat("0", 40), ""},
		{"Cyrillic", "Это длинное предложение 2026 года без секретов", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.want == "" {
				test.want = test.text
			}
			got := redact.Text(test.text, "[x]")
			if got != test.want {
				t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
			}
			if again := redact.Text(got, "[x]"); again != got {
				t.Errorf("redacted again it is %q", again)
			}
		})
	}
}

// Of random keys almost all are found, whatever alphabet they are made of.
// Behaviour: memory-secrets.
func TestRandomKeysAreFound(t *testing.T) {
	t.Parallel()
	const lower, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	upper := strings.ToUpper(lower)
	for _, test := range []struct {
		alphabet string
		length   int
		least    int // of a thousand
	}{
		{upper + lower + digits, 22, 930},
		{upper + lower + digits, 32, 970},
		{upper + lower + digits, 64, 999},
		{upper + lower + digits + "-_", 43, 950},
		{upper + lower + digits + "+/", 88, 990},
		{"abcdef" + digits, 32, 960},
		{"abcdef" + digits, 64, 995},
		{lower + digits, 32, 930},
		{upper + "234567", 52, 900},
	} {
		t.Run(fmt.Sprint(len(test.alphabet), "x", test.length), func(t *testing.T) {
			t.Parallel()
			random, found := rand.New(rand.NewPCG(1, uint64(test.length))), 0
			for range 1000 {
				key := make([]byte, test.length)
				for i := range key {
					key[i] = test.alphabet[random.IntN(len(test.alphabet))]
				}
				if text := redact.Text("it is "+string(key)+" now", "[x]"); strings.Contains(text, "[x]") && len(text) < len("it is [x] now")+test.length/2 {
					found++
				}
			}
			t.Logf("%d of 1000", found)
			if found < test.least {
				t.Errorf("%d of 1000 are found, want %d", found, test.least)
			}
		})
	}
}

// The project's own pages and sources stay as they are, except for a few examples in the shape of a secret.
func TestProseAndCodeStay(t *testing.T) {
	t.Parallel()
	lines, removed := 0, 0
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md", "../../*.md", "../*.go", "../wire/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				lines++
				if got := redact.Text(line, "[x]"); got != line {
					removed++
					t.Logf("%s: %s becomes %s", name, line, got)
				}
			}
		}
	}
	t.Logf("%d of %d lines", removed, lines)
	if removed*1000 > lines {
		t.Errorf("of %d lines %d are changed", lines, removed)
	}
}

// Any redacted text is valid UTF-8 of limited length.
func TestAnyText(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"aB3", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ", "sk-", "ghp_", "://", ":", "@", ".", "=", "/", "_", "-", " ", "\n", "%", "#", "Bearer ", "Authorization: ",
			a(20), hex, "4111 1111 ", "AT61", "é", "\xff", "日本", "[x]",
		}),
		rapid.StringN(0, 6, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), ""), "?")
		got := redact.Text(text, "[x]")
		if !utf8.ValidString(got) || len(got) > 3*len(text) {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("a key sk-ant-api03-abcDEF123456 and xK9#mQ2$vL7p")
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) && !utf8.ValidString(redact.Text(text, "[x]")) {
			t.Fatalf("%q is cut within a character", text)
		}
	})
}
