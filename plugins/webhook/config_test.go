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
	const (
		good   = `"secret":"0123456789abcdef","to":"telegram:1001"`
		listen = `"listen":"127.0.0.1:0"`
	)
	ofHook := func(attributes string) string { return `{` + listen + `,"hooks":{"a":{` + attributes + `}}}` }
	for config, want := range map[string]string{
		ofHook(good): "",
		ofHook(good + `,"form":"github","events":["issues.opened"],"prompt":"x","template":"{{.a}}"`):          "",
		`{` + listen + `,"hooks":{"a":{` + good + `},"b":{` + good + `,"form":"github"}}}`:                     `hooks.b.secret: the hook "a" has the same secret`,
		`{` + listen + `,"hooks":{"a":{` + good + `},"b":{"secret":"0123456789abcdeg","to":"telegram:1001"}}}`: "",
		ofHook(good + `,"form":"gitlab"`):                                     `hooks.a.form: must be "github" or "plain"`,
		ofHook(`"secret":"0123456789abcde","to":"telegram:1001"`):             "hooks.a.secret: must have at least 16 bytes",
		ofHook(`"secret":"whsec_MDEyMzQ1Njc4OWE=","to":"telegram:1001"`):      "hooks.a.secret: must have at least 16 bytes",
		ofHook(`"secret":"whsec_0123456789a!!!!!!!","to":"telegram:1001"`):    "hooks.a.secret: after whsec_",
		ofHook(`"to":"telegram:1001"`):                                        `hooks.a: the attribute "secret" is missing`,
		ofHook(`"secret":"0123456789abcdef"`):                                 `hooks.a: the attribute "to" is missing`,
		ofHook(`"secret":"0123456789abcdef","to":"1001"`):                     "hooks.a.to: must be a chat",
		ofHook(good + `,"events":["issues","a b"]`):                           "hooks.a.events[1]: must be an event",
		ofHook(good + `,"template":"{{.a"`):                                   "hooks.a.template: template: template:1",
		ofHook(good + `,"prompt":"` + strings.Repeat("x", maxPrompt+1) + `"`): "hooks.a.prompt: must have at most",
		ofHook(good + `,"from":"x"`):                                          `hooks.a.from: there is no attribute "from"`,
		`{` + listen + `}`:                                                    `: the attribute "hooks" is missing`,
		`{` + listen + `,"hooks":{}}`:                                         "hooks: must have 1 to 100",
		`{` + listen + `,"hooks":{"A b":{` + good + `}}}`:                     "hooks.A b: the name of a hook",
		`{` + listen + `,"hooks":{"a":{` + good + `}},"port":1}`:              `port: there is no attribute "port"`,
		`{` + listen + `,"hooks":{"a":{` + good + `}},"max_body":26214400}`:   "",
		`{` + listen + `,"hooks":{"a":{` + good + `}},"max_body":26214401}`:   "max_body: must be 1 to 26214400",
		`{` + listen + `,"hooks":{"a":{` + good + `}},"max_body":0}`:          "max_body: must be 1 to",
		`{"listen":"here","hooks":{"a":{` + good + `}}}`:                      `listen: "here" is not an address`,
		`{"listen":"127.0.0.1:x","hooks":{"a":{` + good + `}}}`:               `listen: "x" is not a port`,
	} {
		h := sdktest.New(t, sdk.Service(open))
		found, err := h.TryConfigure(config)
		got := ""
		for _, d := range found {
			got += d.Path + ": " + d.Summary
		}
		if err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s gives %q, %v, want %q", config, got, err, want)
		}
		if shown := got + h.Logs(); strings.Contains(shown, "0123456789") {
			t.Errorf("%s shows the secret: %s", config, shown)
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
	if err != nil || len(found) != 1 || found[0].Path != "listen" || !strings.Contains(found[0].Summary, "address already in use: stop what listens there") {
		t.Errorf("an address that is taken gives %v, %v", found, err)
	}
}

// Only an address that is in use is said to be taken, even if the host waits no longer.
func TestAnAddressOfNobody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const elsewhere = "192.0.2.1:8790" // for documentation
	if listener, err := listen(ctx, sdk.Env{}, elsewhere); err == nil || strings.Contains(err.Error(), "taken") {
		t.Errorf("%s gives %v, %v", elsewhere, listener, err)
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
		!strings.Contains(turn.Prompt, "A door is open") || !turn.Untrusted {
		t.Errorf("the turn is %+v", turn)
	}
	if logs := h.Logs(); strings.Contains(logs, testSecret) || strings.Contains(logs, "A door") {
		t.Errorf("the log is\n%s", logs)
	}
}
