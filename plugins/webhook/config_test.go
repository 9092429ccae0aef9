package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// Each mistake of the config is shown at its attribute.
func TestConfig(t *testing.T) {
	t.Parallel()
	const hook = `"secret":"0123456789abcdef","to":"telegram:1001"`
	for config, want := range map[string]string{
		`{"hooks":{"a":{` + hook + `}}}`: "",
		`{"hooks":{"a":{` + hook + `,"form":"github","events":["issues.opened"],"prompt":"x","template":"{{.a}}"}},"max_body":26214400}`: "",
		`{}`:                               "",
		`{"hooks":{}}`:                     "hooks: 1 to 100",
		`{"hooks":{"A b":{` + hook + `}}}`: "hooks.A b: lower-case",
		`{"hooks":{"a":{` + hook + `,"form":"gitlab"}}}`:                                     `hooks.a.form: "github"`,
		`{"hooks":{"a":{"secret":"0123456789abcde","to":"telegram:1001"}}}`:                  "hooks.a.secret: 16 bytes",
		`{"hooks":{"a":{"secret":"whsec_MDEyMzQ1Njc4OWE=","to":"telegram:1001"}}}`:           "hooks.a.secret: 16 bytes",
		`{"hooks":{"a":{"secret":"whsec_0123456789a!!!!!!!","to":"telegram:1001"}}}`:         "hooks.a.secret: base64",
		`{"hooks":{"a":{"secret":"0123456789abcdef","to":"1001"}}}`:                          "hooks.a.to: telegram:1001",
		`{"hooks":{"a":{` + hook + `,"events":["issues","a b"]}}}`:                           "hooks.a.events[1]: issues.opened",
		`{"hooks":{"a":{` + hook + `,"template":"{{.a"}}}`:                                   "hooks.a.template: unclosed action",
		`{"hooks":{"a":{` + hook + `,"prompt":"` + strings.Repeat("x", maxPrompt+1) + `"}}}`: "hooks.a.prompt: bytes",
		`{"hooks":{"a":{` + hook + `,"from":"x"}}}`:                                          `hooks.a.from: no attribute "from"`,
		`{"hooks":{"a":{` + hook + `}},"port":1}`:                                            `port: no attribute "port"`,
		`{"hooks":{"a":{` + hook + `}},"max_body":26214401}`:                                 "max_body: 26214400",
		`{"hooks":{"a":{` + hook + `}},"max_body":0}`:                                        "max_body: 1 to",
		`{"hooks":{"a":{` + hook + `}},"listen":"here"}`:                                     `listen: "127.0.0.1:8790"`,
		`{"hooks":{"a":{` + hook + `}},"listen":"127.0.0.1:x"}`:                              `listen: not a port`,
	} {
		if !strings.Contains(config, "listen") {
			config = strings.TrimSuffix(config, "}") + `,"listen":"127.0.0.1:0"}`
			config = strings.Replace(config, "{,", "{", 1)
		}
		h := sdktest.New(t, sdk.Service(open))
		found, err := h.TryConfigure(config)
		if config == `{"listen":"127.0.0.1:0"}` {
			if len(found) != 1 || !strings.Contains(found[0].Summary, `"hooks" is missing`) {
				t.Errorf("no hooks give %v", found)
			}
			continue
		}
		path, text, _ := strings.Cut(want, ": ")
		switch {
		case err != nil || len(found) > 1 || len(found) == 0 != (want == ""):
			t.Errorf("%s gives %v, %v, want %q", config, found, err, want)
		case want != "" && (found[0].Path != path || !strings.Contains(found[0].Summary, text)):
			t.Errorf("%s gives %v, want %q", config, found, want)
		}
		if strings.Contains(h.Logs(), "0123456789") || len(found) > 0 && strings.Contains(found[0].Summary, "0123456789") {
			t.Errorf("%s shows the secret: %v\n%s", config, found, h.Logs())
		}
	}
}

func TestOtherMachinesAreWarnedAbout(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true, ":0": true} {
		h := sdktest.New(t, sdk.Service(open))
		h.Configure(map[string]any{"listen": listen, "hooks": map[string]any{
			"a": map[string]any{"secret": testSecret, "to": "telegram:group:-1"},
		}})
		if got := strings.Contains(h.Logs(), "plain HTTP from other machines"); got != want {
			t.Errorf("at %s the log warns: %t, want %t\n%s", listen, got, want, h.Logs())
		}
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	h := sdktest.New(t, sdk.Service(open))
	found, err := h.TryConfigure(map[string]any{"listen": other.Addr().String(), "hooks": map[string]any{
		"a": map[string]any{"secret": testSecret, "to": "telegram:group:-1"},
	}})
	if err != nil || len(found) != 1 || found[0].Path != "listen" || !strings.Contains(found[0].Summary, "taken by another program") {
		t.Errorf("an address that is taken gives %v, %v", found, err)
	}
}

func TestChats(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"telegram:1001":                   "{telegram 1001 } direct",
		"telegram:1001:thread:7":          "{telegram 1001 7} direct",
		"telegram:group:-100123":          "{telegram -100123 } group",
		"telegram:group:-100123:thread:7": "{telegram -100123 7} group",
		"whatsapp:%2B1555:thread:a%3Ab":   "{whatsapp +1555 a:b} direct",
		"matrix:group:%21a%3Aexample.org": "{matrix !a:example.org } group",
		"telegram:group":                  "{telegram group } direct",
		"telegram":                        "",
		"":                                "",
		"telegram:":                       "",
		":1001":                           "",
		"telegram:thread:7":               "",
		"telegram:1001:7":                 "",
		"telegram:group:-1:thread:":       "",
		"telegram:%zz":                    "",
		"a:b:c:d:e:f":                     "",
	} {
		to, kind, err := parseChat(key)
		got := ""
		if err == nil {
			got = fmt.Sprint(to, " ", kind)
		}
		if got != want {
			t.Errorf("%q is %q, %v, want %q", key, got, err, want)
		}
	}
}

// The plugin as the host runs it, with a client of HTTP.
// Behaviour: webhook.
func TestTheWholePlugin(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.Service(open))
	turns := make(chan sdk.Turn, 1)
	h.Host.OnTurn(func(_ context.Context, got sdk.Turn) (string, error) {
		turns <- got
		return "", nil
	})
	h.Configure(map[string]any{"listen": "127.0.0.1:0", "hooks": map[string]any{
		"github": map[string]any{"form": "github", "secret": testSecret, "to": "telegram:1001", "template": "{{.issue.title}}"},
	}})
	found := regexp.MustCompile(`listening on (\S+)`).FindStringSubmatch(h.Status())
	if found == nil {
		t.Fatalf("the status is %q", h.Status())
	}
	want := []string{"202 Accepted", "200 OK"}
	var got []string
	for range want {
		request := ofGitHub("github", "issues", issue)
		request.RequestURI = ""
		request.URL.Scheme, request.URL.Host = "http", found[1]
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		got = append(got, answer.Status)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if turn := <-turns; turn.To != (chat.Address{Channel: "telegram", Chat: "1001"}) || turn.Kind != chat.Direct ||
		!strings.Contains(turn.Prompt, "A door is open") {
		t.Errorf("the turn is %+v", turn)
	}
	if logs := h.Logs(); !strings.Contains(logs, "direct chat") || strings.Contains(logs, testSecret) || strings.Contains(logs, "A door") {
		t.Errorf("the log is\n%s", logs)
	}
}
