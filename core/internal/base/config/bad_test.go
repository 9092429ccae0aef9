package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// bad is a config file with errors.
type bad struct {
	name string
	text string
	want string // with the file's path written as F, its folder as D, and the modes of queues as MODES
}

// refuse loads bad files, and fails unless each is refused with its errors.
func refuse(t *testing.T, tests []bad) {
	t.Helper()
	names := domain.Modes()
	last := len(names) - 1
	modes := fmt.Sprintf(`"%s" or %q`, strings.Join(names[:last], `", "`), names[last])
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tt.text)
			c, err := config.Load(path, variables(nil))
			if err == nil {
				t.Fatalf("Load found nothing wrong: %+v", c)
			}
			got := strings.ReplaceAll(err.Error(), path, "F")
			got = strings.ReplaceAll(got, filepath.Dir(path), "D")
			if diff := cmp.Diff(strings.ReplaceAll(strings.TrimSpace(tt.want), "MODES", modes), got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(got, "secret-") {
				t.Errorf("a secret was shown:\n%s", got)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	refuse(t, []bad{
		{
			"budgets",
			`
budget {
  daily   = "5"
  monthly = "$5.1234567"
}
budget {
  per     = "chat"
  daily   = "$0.00"
  monthly = "2M tokens"
}
budget {
  per   = "all"
  daily = "$1000001"
}
budget {
  per     = "all"
  monthly = "9000000000000 tokens"
}
budget {
  per   = "all"
  daily = null
}
`,
			`
F:2:8: Missing argument; The block budget needs the argument "per".
    budget {
F:3:13: Unsuitable value; budget.daily must be an amount of money or of tokens, such as "$5", "$0.50" or "2000000 tokens".
    daily   = "5"
F:4:13: Unsuitable value; budget.monthly must be an amount of money or of tokens, such as "$5", "$0.50" or "2000000 tokens".
    monthly = "$5.1234567"
F:7:13: Unsuitable value; budget.per must be "person", "session", "agent" or "all".
    per     = "chat"
F:8:13: Unsuitable value; budget.daily must be more than nothing.
    daily   = "$0.00"
F:9:13: Unsuitable value; budget.monthly must be an amount of money or of tokens, such as "$5", "$0.50" or "2000000 tokens".
    monthly = "2M tokens"
F:13:11: Unsuitable value; budget.daily must be at most $1000000.
    daily = "$1000001"
F:17:13: Unsuitable value; budget.monthly must be at most 1000000000000 tokens.
    monthly = "9000000000000 tokens"
F:19:8: Missing argument; The block budget needs "daily" or "monthly".
    budget {
`,
		},
		{
			"the HTTP interface",
			`
admin {
  listen = "8765"
  token  = "secret-"
  hosts  = ["claw:8765"]
}
`,
			`
F:3:12: Unsuitable value; admin.listen must be an address with a port, such as "127.0.0.1:8765".
    listen = "8765"
F:4:12: Unsuitable value; admin.token must have at least 16 ASCII characters without spaces, such as what ` + "`openssl rand -hex 32`" + ` prints.
F:5:13: Unsuitable value; admin.hosts must be the name of a host without a port, such as "claw.example.com".
    hosts  = ["claw:8765"]
`,
		},
		{
			"store and host",
			`
store {
  driver = "sqlite"
  dsn    = "postgres://me:hidden@db/claw"
  lease  = "1s"
}
host {
  name   = "build 1"
  labels = ["gpu", ""]
}
`,
			`
F:4:3: Unsuitable argument; The block store takes "dsn" only with driver = "postgres".
F:5:12: Unsuitable value; store.lease must be at least "2s".
    lease  = "1s"
F:8:12: Unsuitable value; host.name must be a name of 1 to 63 letters, digits, dots, _ and -, such as "build-1".
    name   = "build 1"
F:9:20: Unsuitable value; host.labels must not be empty.
    labels = ["gpu", ""]
`,
		},
		{
			"store without its server",
			`
store {
  driver = "postgres"
  lease  = "1h"
}
`,
			`
F:3:12: Missing argument; The block store needs the argument "dsn": the address of the server, such as dsn = env("DATABASE_URL").
    driver = "postgres"
F:4:12: Unsuitable value; store.lease must be at most "10m0s".
    lease  = "1h"
`,
		},
		{
			"telemetry",
			`
telemetry {
  metrics = "yes"
  traces  = "127.0.0.1:4318"
  sample  = 10
}
`,
			`
F:3:13: Unsuitable value; telemetry.metrics must be true or false.
    metrics = "yes"
F:4:13: Unsuitable value; telemetry.traces must be an http or https address without a user, such as "http://127.0.0.1:4318/v1/traces", or "".
    traces  = "127.0.0.1:4318"
F:5:13: Unsuitable value; telemetry.sample must be a number from 0 to 1.
    sample  = 10
`,
		},
		{
			"an HTTP interface without a token",
			`
admin {
  listen = "127.0.0.1:8765"
}
`,
			`
F:2:7: Missing argument; The block admin needs the argument "token".
    admin {
`,
		},
		{
			"functions that there are not",
			`
log {
  level = evn("LEVEL")
}
agent {
  name = shout("x")
}
admin {
  token  = Secret-(1)
  listen = "127.0.0.1:8765"
}
plugin "telegram" {
  config {
    token = getenv("TOKEN")
    other = secret-(1)
  }
}
`,
			`
F:3:11: Call to unknown function; There is no function "evn". Did you mean "env"? The functions are env, file, jsonencode and trimspace.
    level = evn("LEVEL")
F:6:10: Call to unknown function; There is no function "shout". The functions are env, file, jsonencode and trimspace.
    name = shout("x")
F:9:12: Call to unknown function; The functions are env, file, jsonencode and trimspace.
F:14:13: Call to unknown function; There is no function "getenv". Did you mean "env"? The functions are env, file, jsonencode and trimspace.
F:15:13: Call to unknown function; The functions are env, file, jsonencode and trimspace.
`,
		},
		{
			"all errors at once, in the file's order",
			`
state_dri = "x"
log {
  level    = "loud"
  format   = 5
  max_size = "1KB"
  keep     = 0
}
agent {
  name     = ""
  timezone = "Mars/Base"
}
outbox {
  attempts = 0
  max_age  = "-1s"
}
limits {
  on_usage_limit = "hope"
}
retention {
  transcripts = "59m"
  media       = "0d"
  exports     = "36501d"
}
jobs {
  max_running = 101
  max_output  = "1KB"
}
approvals {
  to             = ["owner", "irc:1", "webchat:7", 5]
  escalate_after = "-1s"
}
delivery {
  mark_repeats = "sometimes"
}
`,
			`
F:2:1: Unknown argument; The file has no argument "state_dri". Did you mean "state_dir"?
    state_dri …
F:4:14: Unsuitable value; log.level must be "debug", "info", "warn" or "error".
    level    = "loud"
F:5:14: Unsuitable value; log.format must be "text" or "json".
    format   = 5
F:6:14: Unsuitable value; log.max_size must be from 1 MB to 1 GB.
    max_size = "1KB"
F:7:14: Unsuitable value; log.keep must be a whole number from 1 to 1000.
    keep     = 0
F:10:14: Unsuitable value; agent.name must not be empty.
    name     = ""
F:11:14: Unsuitable value; agent.timezone must be "local", "utc" or an IANA name such as "Europe/Berlin".
    timezone = "Mars/Base"
F:14:14: Unsuitable value; outbox.attempts must be a whole number from 1 to 1000.
    attempts = 0
F:15:14: Unsuitable value; outbox.max_age must be at least "0s".
    max_age  = "-1s"
F:18:20: Unsuitable value; limits.on_usage_limit must be "ask", "wait" or "fail".
    on_usage_limit = "hope"
F:21:17: Unsuitable value; retention.transcripts must be a number of days, such as "90d", a duration of an hour or more, such as "36h", or "0": for good.
    transcripts = "59m"
F:22:17: Unsuitable value; retention.media must be from 1 to 36500 days.
    media       = "0d"
F:23:17: Unsuitable value; retention.exports must be from 1 to 36500 days.
    exports     = "36501d"
F:26:17: Unsuitable value; jobs.max_running must be a whole number from 0 to 100.
    max_running = 101
F:27:17: Unsuitable value; jobs.max_output must be from 64 KB to 16 GB.
    max_output  = "1KB"
F:30:20: Unsuitable value; approvals.to names "webchat:7", who may not answer. Add them to access.approvers.
    to             = ["owner", "irc:1", "webchat:7", 5]
F:30:21: Unsuitable value; approvals.to must have "owners", "approvers", or people as "channel:user", such as "telegram:123".
    to             = ["owner", "irc:1", "webchat:7", 5]
F:30:30: Unknown channel; approvals.to names "irc", and no plugin block has this label.
    to             = ["owner", "irc:1", "webchat:7", 5]
F:30:52: Unsuitable value; approvals.to must be text in quotes.
    to             = ["owner", "irc:1", "webchat:7", 5]
F:31:20: Unsuitable value; approvals.escalate_after must be at least "0s".
    escalate_after = "-1s"
F:34:18: Unsuitable value; delivery.mark_repeats must be true or false.
    mark_repeats = "sometimes"
`,
		},
		{
			"unknown names show what precedes their value only",
			`
claude {
  api_key = "sk-secret"
}
plugn "telegram" {
}
agent = {}
log {
  level {}
}
group "x" {}
`,
			`
F:3:3: Unknown argument; The block claude has no argument "api_key". Did you mean "api_keys"?
    api_key …
F:5:1: Unknown block; The file has no block "plugn". Did you mean "plugin"?
    plugn …
F:7:1: Unknown argument; The file has no argument "agent". It is a block: write agent { … }.
    agent …
F:9:3: Unknown block; The block log has no block "level". It is an argument: write level = ….
    level …
F:11:1: Unknown block; The file has no block "group".
    group …
`,
		},
		{
			"durations, numbers, truth values and lists",
			`
claude {
  timeout         = 30
  park_after      = "soon"
  max_processes   = 1.5
  allowed_tools   = "Read"
  fallback_models = ["a", 2, "-p"]
  model           = "a b"
  env             = ["A"]
  max_memory      = "5MB"
  recycle_at      = "much"
}
inbound {
  max_age = "24h drop it"
}
outbox {
  max_age = "9000h"
}
access {
  require_mention = "perhaps"
}
reply {
  text_limit      = 5
  typing_interval = "10ms"
}
`,
			`
F:3:21: Unsuitable value; claude.timeout must be a duration, such as "500ms", "30s" or "2h".
    timeout         = 30
F:4:21: Unsuitable value; claude.park_after must be "auto" or a duration, such as "500ms", "30s" or "2h".
    park_after      = "soon"
F:5:21: Unsuitable value; claude.max_processes must be a whole number from 1 to 256.
    max_processes   = 1.5
F:6:21: Unsuitable value; claude.allowed_tools must be a list, such as ["a", "b"].
    allowed_tools   = "Read"
F:7:27: Unsuitable value; claude.fallback_models must be text in quotes.
    fallback_models = ["a", 2, "-p"]
F:7:30: Unsuitable value; claude.fallback_models must be one name.
    fallback_models = ["a", 2, "-p"]
F:8:21: Unsuitable value; claude.model must be one name.
    model           = "a b"
F:9:21: Unsuitable value; claude.env must be an object, such as { name = "value" }.
F:10:21: Unsuitable value; claude.max_memory must be from 64 MB to 1024 GB.
    max_memory      = "5MB"
F:11:21: Unsuitable value; claude.recycle_at must be a size, such as "20MB" or "500KB".
    recycle_at      = "much"
F:14:13: Unsuitable value; inbound.max_age must be a duration, such as "500ms", "30s" or "2h", optionally followed by the word drop, such as "24h drop".
    max_age = "24h drop it"
F:17:13: Unsuitable value; outbox.max_age must be at most 366 days.
    max_age = "9000h"
F:20:21: Unsuitable value; access.require_mention must be true or false.
    require_mention = "perhaps"
F:23:21: Unsuitable value; reply.text_limit must be 0 or at least 64.
    text_limit      = 5
F:24:21: Unsuitable value; reply.typing_interval must be at least "1s".
    typing_interval = "10ms"
`,
		},
		{
			"blocks that stand twice, and labels",
			`
agent {}
agent {}
log "x" {}
access {
  group {}
  group "a" {}
  group "a" {}
}
plugin "main" { enabled = false }
plugin "Telegram" {}
plugin "ok" {}
plugin "ok" { enabled = false }
plugin {}
plugin "a" "b" {}
`,
			`
F:3:1: Duplicate block; There is a block agent at F:2:1 already.
    agent {}
F:4:5: Unexpected label; The block log has no label.
    log "x" {}
F:6:3: Wrong number of labels; The block group has one label: group "name" { … }.
    group {}
F:8:3: Duplicate block; There is a block group "a" at F:7:3 already.
    group "a" {}
F:10:8: Unsuitable label; The label "main" is reserved.
F:11:8: Unsuitable label; A plugin's label has 1 to 32 of the characters a to z, 0 to 9, _ and -.
F:13:1: Duplicate block; There is a block plugin "ok" at F:12:1 already.
F:14:1: Wrong number of labels; The block plugin has one label: plugin "name" { … }.
F:15:1: Wrong number of labels; The block plugin has one label: plugin "name" { … }.
`,
		},
		{
			"a value that cannot be told is not missing",
			`
send {
  rule {
    policy = env("MISSING")
  }
}
`,
			`
F:4:14: Missing environment variable; MISSING is not set. Write a line MISSING=… into the file D/env, which the service reads, too; or, in a shell, export MISSING=… before the host's command.
    policy = env("MISSING")
`,
		},
		{
			"plugin blocks are not shown",
			`
plugin "p" {
  sorce  = "x"
  sha256 = "abc"
  env    = { "A-B" = "secret-1", C = 5 }
  grants = ["q"]
  source = ""
  overrides = ["a b", "/status", 5]
  hook {
    timeout  = "secret-2"
    on_error = "secret-3"
  }
  config {
    token = env("MISSING")
    quote = secret-4
    name  = env("secret 5!")
    proxy {
      url = "secret-6"
    }
  }
  claude {}
  read_transcripts = "perhaps"
}
`,
			`
F:3:3: Unknown argument; The block plugin has no argument "sorce". Did you mean "source"?
F:4:12: Unsuitable value; plugin.sha256 must be a SHA-256 checksum of 64 hexadecimal digits.
F:5:22: Unsuitable value; plugin.env contains a name that is not valid for an environment variable.
F:5:38: Unsuitable value; plugin.env must be text in quotes.
F:6:13: Unknown channel; plugin.grants names "q", and no plugin block has this label.
F:7:12: Unsuitable value; plugin.source must not be empty.
F:8:16: Unsuitable value; plugin.overrides must name commands, such as "status".
F:8:34: Unsuitable value; plugin.overrides must be text in quotes.
F:10:16: Unsuitable value; plugin.hook.timeout must be a duration, such as "500ms", "30s" or "2h".
F:11:16: Unsuitable value; plugin.hook.on_error must be "skip" or "fail".
F:14:13: Missing environment variable; MISSING is not set. Write a line MISSING=… into the file D/env, which the service reads, too; or, in a shell, export MISSING=… before the host's command.
F:15:13: Variables not allowed; Quote text, as in "steer"; for yes or no write true or false.
F:16:13: Unsuitable value; env: that is not the name of an environment variable.
F:17:5: Unexpected block; A plugin's config contains only arguments: write proxy = { … }.
F:21:3: Unknown block; The block plugin has no block "claude".
F:22:22: Unsuitable value; plugin.read_transcripts must be true or false.
`,
		},
		{
			"syntax errors show no line from the first secret on",
			`
claude {
  api_keys = [
    "secret-1" "x"
  ]
}
`,
			`
F:4:16: Missing item separator
`,
		},
		{
			"syntax errors show no line of a plugin block",
			`
plugin "p" {
  config {
    password = "secret-1" "x"
  }
}
`,
			`
F:4:27: Missing newline after argument
`,
		},
		{
			"other syntax errors show their line",
			`
# The plugin's token stands below.
agent {
  name = "x" "y"
}
`,
			`
F:4:14: Missing newline after argument; An argument definition must end with a newline.
    name = "x" "y"
`,
		},
		{
			"paths",
			`
plugin_dir = "~other/bin"
agent {
  system_prompt = file("no-such-file")
  context_files = ["ok", "~other"]
}
`,
			`
F:2:14: Unsuitable value; plugin_dir is not a path: ~ stands for your own home folder only; write ~/ or the whole path.
    plugin_dir = "~other/bin"
F:4:19: Unsuitable value; file: D/no-such-file: no such file or directory.
    system_prompt = file("no-such-file")
F:5:26: Unsuitable value; agent.context_files is not a path: ~ stands for your own home folder only; write ~/ or the whole path.
    context_files = ["ok", "~other"]
`,
		},
	})
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.hcl")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.hcl"): "no such file or directory. Write one with `clawhost init`, copy one of examples/, or name another one with -config FILE.",
		dir:                            "it is not a regular file",
		large:                          "it is larger than 1024 KiB",
	} {
		_, err := config.Load(path, variables(nil))
		var problems config.Problems
		if !errors.As(err, &problems) {
			t.Fatalf("%s: error %v", path, err)
		}
		if diff := cmp.Diff(config.Problems{{File: path, Summary: "Cannot read the config file", Detail: want}}, problems); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if want := path + ": Cannot read the config file; " + want; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

func TestDeepExpressionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"(", "[", "!", "{a=", `"${`, "1+", "f("} {
		_, err := config.Load(write(t, "agent {\n  name = "+strings.Repeat(piece, 100_000)+"\n}\n"), variables(nil))
		if err == nil || !strings.Contains(err.Error(), "File too large") {
			t.Errorf("%q repeated: error %.100v", piece, err)
		}
	}
}

func TestSocketPathLength(t *testing.T) {
	t.Parallel()
	dir := "/" + strings.Repeat("d", 88) // with /clawhost.sock one byte below the limit
	if c := load(t, fmt.Sprintf("state_dir = %q\n", dir), nil); len(c.Socket()) != 103 {
		t.Fatalf("the socket's path has %d bytes", len(c.Socket()))
	}
	path := write(t, fmt.Sprintf("state_dir = %q\n", dir+"d"))
	want := path + ":1:13: Unsuitable value; state_dir is too deep: the path of its control socket has 104 bytes and must have fewer than 104."
	if _, err := config.Load(path, variables(nil)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestProblemsAsJSON(t *testing.T) {
	t.Parallel()
	path := write(t, "log {\n  level = \"<loud>\"\n}\nplugin \"p\" {\n  source = 5\n}\n")
	_, err := config.Load(path, variables(nil))
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("error %v", err)
	}
	for i := range problems {
		problems[i].File = "F"
	}
	got, err := json.MarshalIndent(problems, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `[
 {
  "file": "F",
  "line": 2,
  "column": 11,
  "summary": "Unsuitable value",
  "detail": "log.level must be \"debug\", \"info\", \"warn\" or \"error\".",
  "snippet": "level = \"\u003cloud\u003e\""
 },
 {
  "file": "F",
  "line": 5,
  "column": 12,
  "summary": "Unsuitable value",
  "detail": "plugin.source must be text in quotes."
 }
]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
