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

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
)

// Behaviour: heartbeat-target.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	names := domain.Modes()
	last := len(names) - 1
	modes := fmt.Sprintf(`"%s" or %q`, strings.Join(names[:last], `", "`), names[last])
	tests := []struct {
		name string
		text string
		want string // with the file's path written as F, and the modes of queues as MODES
	}{
		{
			"all errors at once, in the file's order",
			`
state_dri = "x"
log {
  level  = "loud"
  format = 5
}
agent {
  name     = ""
  timezone = "Mars/Base"
}
outbox {
  attempts = 0
  max_age  = "-1s"
}
`,
			`
F:2:1: Unknown argument; The file has no argument "state_dri". Did you mean "state_dir"?
    state_dri …
F:4:12: Unsuitable value; log.level must be "debug", "info", "warn" or "error".
    level  = "loud"
F:5:12: Unsuitable value; log.format must be text in quotes.
    format = 5
F:8:14: Unsuitable value; agent.name must not be empty.
    name     = ""
F:9:14: Unsuitable value; agent.timezone must be "local", "utc" or an IANA name such as "Europe/Berlin".
    timezone = "Mars/Base"
F:12:14: Unsuitable value; outbox.attempts must be a whole number from 1 to 1000.
    attempts = 0
F:13:14: Unsuitable value; outbox.max_age must be at least "0s".
    max_age  = "-1s"
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
			"MCP servers",
			`
claude {
  mcp "clawhost" {
    command = ["a"]
  }
  mcp "a__b" {
    command = ["a"]
  }
  mcp "both" {
    command = ["a"]
    url     = "https://example.com"
  }
  mcp "neither" {
  }
  mcp "odd" {
    command = []
    headers = { A = "b" }
  }
  mcp "web" {
    url     = "ftp://example.com"
    headers = { "A B" = "c", B = "d\ne", C = "$${HOME}" }
    env     = { A = "b" }
  }
  mcp "web" {
    url = "https://user@example.com"
  }
}
`,
			`
F:3:7: Unsuitable label; The name "clawhost" is that of the host's own MCP server.
    mcp "clawhost" {
F:6:7: Unsuitable label; The name of an MCP server has 1 to 32 of the characters a to z, A to Z, 0 to 9, and single - and _ between them.
    mcp "a__b" {
F:11:5: Unsuitable argument; The block claude.mcp takes only one of "command" or "url".
F:13:17: Missing argument; The block claude.mcp needs one of "command" or "url".
    mcp "neither" {
F:16:15: Unsuitable value; claude.mcp.command must be a program with its arguments, such as ["github-mcp-server", "stdio"].
F:17:5: Unsuitable argument; The block claude.mcp takes "headers" only with "url".
F:20:15: Unsuitable value; claude.mcp.url must be an http or https address, without a user.
F:21:46: Unsuitable value; claude.mcp.headers must not hold "${", which Claude Code would replace: use env("NAME").
F:22:5: Unsuitable argument; The block claude.mcp takes "env" only with "command".
F:24:3: Duplicate block; There is a block mcp "web" at F:19:3 already.
    mcp "web" {
`,
		},
		{
			"headers of MCP servers",
			`
claude {
  mcp "web" {
    url     = "https://example.com"
    headers = { "A B" = "c", B = "d\ne", C = "1", c = "2" }
  }
}
`,
			`
F:5:25: Unsuitable value; claude.mcp.headers holds a name that is none of an HTTP header.
F:5:34: Unsuitable value; claude.mcp.headers must hold no control characters.
F:5:55: Unsuitable value; claude.mcp.headers holds c twice.
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
F:3:21: Unsuitable value; claude.timeout must be text in quotes.
    timeout         = 30
F:4:21: Unsuitable value; claude.park_after must be a duration, such as "500ms", "30s" or "2h".
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
F:14:13: Unsuitable value; inbound.max_age must be a duration, such as "500ms", "30s" or "2h", or one with the word drop behind it, such as "24h drop".
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
			"people",
			`
session {
  identity_links = {
    anna  = ["telegram:1", "webchat:2"]
    bert  = ["telegram:1"]
    "a b" = []
    carl  = "telegram:4"
  }
}
access {
  owners        = ["anna", "telegrm:1", "telegram:*", "telegram:", "discord:5"]
  allow         = [7]
  commands_from = "webchat:local"
}
plugin "telegram" { enabled = false }
`,
			`
F:5:14: Unsuitable value; session.identity_links names telegram:1 for anna already.
    bert  = ["telegram:1"]
F:6:13: Unsuitable value; session.identity_links holds a name that is not of letters, digits, - and _, up to 64 of them.
    "a b" = []
F:7:13: Unsuitable value; session.identity_links must be a list, such as ["a", "b"].
    carl  = "telegram:4"
F:11:20: Unsuitable value; access.owners must name people as "channel:user", such as "telegram:123".
    owners        = ["anna", "telegrm:1", "telegram:*", "telegram:", "discord:5"]
F:11:28: Unknown channel; access.owners names "telegrm", and no plugin block has this label. Did you mean "telegram"?
    owners        = ["anna", "telegrm:1", "telegram:*", "telegram:", "discord:5"]
F:11:41: Unsuitable value; access.owners names people one by one; dm and groups have "open" for everybody.
    owners        = ["anna", "telegrm:1", "telegram:*", "telegram:", "discord:5"]
F:11:55: Unsuitable value; access.owners must name people as "channel:user", such as "telegram:123".
    owners        = ["anna", "telegrm:1", "telegram:*", "telegram:", "discord:5"]
F:11:68: Unknown channel; access.owners names "discord", and no plugin block has this label.
    owners        = ["anna", "telegrm:1", "telegram:*", "telegram:", "discord:5"]
F:12:20: Unsuitable value; access.allow must be text in quotes.
    allow         = [7]
F:13:19: Unsuitable value; access.commands_from must be a list, such as ["a", "b"].
    commands_from = "webchat:local"
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
			"aliases and the queue",
			`
claude {
  aliases = {
    fast      = "haiku"
    Fast      = "haiku"
    flag      = "-p"
    "a b"     = "x"
    "-x"      = "x"
    empty     = " "
    two       = "a b"
    number    = 5
  }
}
inbound {
  debounce = "-1s"
}
queue {
  mode     = "steeer"
  debounce = 500
  cap      = 0
  drop     = "none"
}
plugin "p" {
  queue {
    cap = 1001
  }
}
`,
			`
F:4:17: Unsuitable value; claude.aliases holds Fast and fast, which differ in case only.
    fast      = "haiku"
F:6:17: Unsuitable value; claude.aliases must be one name.
    flag      = "-p"
F:7:17: Unsuitable value; claude.aliases holds a name that is not of letters, digits, - and _, up to 64 of them, or begins with -.
    "a b"     = "x"
F:8:17: Unsuitable value; claude.aliases holds a name that is not of letters, digits, - and _, up to 64 of them, or begins with -.
    "-x"      = "x"
F:9:17: Unsuitable value; claude.aliases must not be empty.
    empty     = " "
F:10:17: Unsuitable value; claude.aliases must be one name.
    two       = "a b"
F:11:17: Unsuitable value; claude.aliases must be text in quotes.
    number    = 5
F:15:14: Unsuitable value; inbound.debounce must be at least "0s".
    debounce = "-1s"
F:18:14: Unsuitable value; queue.mode must be MODES.
    mode     = "steeer"
F:19:14: Unsuitable value; queue.debounce must be text in quotes.
    debounce = 500
F:20:14: Unsuitable value; queue.cap must be a whole number from 1 to 1000.
    cap      = 0
F:21:14: Unsuitable value; queue.drop must be "summarize", "old" or "new".
    drop     = "none"
F:25:11: Unsuitable value; queue.cap must be a whole number from 1 to 1000.
`,
		},
		{
			"when sessions start anew, and groups",
			`
session {
  idle_reset  = "60"
  daily_reset = "24:00"
  reset "groups" {
    idle = "1h"
  }
  reset "direct" {
    idel  = "1h"
    daily = "at four"
  }
  reset "direct" {}
  reset {}
}
access {
  mention_patterns = ["claw", "a(", "", "[b-a]", 5]
  history_limit    = 501
  group "a" {
    history_limit   = -1
    require_mention = "no"
    prompt          = "x"
  }
}
plugin "p" {
  access {
    mention_patterns = "secret-1("
  }
  session {
    reset "thread" {
      daily = "secret-2"
    }
  }
}
`,
			`
F:3:17: Unsuitable value; session.idle_reset must be a duration, such as "500ms", "30s" or "2h".
    idle_reset  = "60"
F:4:17: Unsuitable value; session.daily_reset must be a time of day, such as "04:00", or "".
    daily_reset = "24:00"
F:5:9: Unsuitable label; The label of the block reset must be "direct", "group" or "thread".
    reset "groups" {
F:9:5: Unknown argument; The block session.reset has no argument "idel". Did you mean "idle"?
    idel …
F:10:13: Unsuitable value; session.reset.daily must be a time of day, such as "04:00", or "".
    daily = "at four"
F:12:3: Duplicate block; There is a block reset "direct" at F:8:3 already.
    reset "direct" {}
F:13:3: Wrong number of labels; The block reset has one label: reset "name" { … }.
    reset {}
F:16:31: Unsuitable value; access.mention_patterns must be a regular expression: missing closing ).
    mention_patterns = ["claw", "a(", "", "[b-a]", 5]
F:16:37: Unsuitable value; access.mention_patterns must not be empty.
    mention_patterns = ["claw", "a(", "", "[b-a]", 5]
F:16:41: Unsuitable value; access.mention_patterns must be a regular expression: invalid character class range.
    mention_patterns = ["claw", "a(", "", "[b-a]", 5]
F:16:50: Unsuitable value; access.mention_patterns must be text in quotes.
    mention_patterns = ["claw", "a(", "", "[b-a]", 5]
F:17:22: Unsuitable value; access.history_limit must be a whole number from 0 to 500.
    history_limit    = 501
F:19:23: Unsuitable value; access.group.history_limit must be a whole number from 0 to 500.
    history_limit   = -1
F:20:23: Unsuitable value; access.group.require_mention must be true or false.
    require_mention = "no"
F:21:5: Unknown argument; The block access.group has no argument "prompt".
    prompt …
F:26:24: Unsuitable value; access.mention_patterns must be a list, such as ["a", "b"].
F:30:15: Unsuitable value; session.reset.daily must be a time of day, such as "04:00", or "".
`,
		},
		{
			"files and links",
			`
media {
  max_bytes  = "20"
  transcribe = ["sh", "-c", "{out}"]
  speak      = ["clawhost-no-such-program", "{out}"]
  timeout    = "0"
  tts        = "always"
}
links {
  command = [" ", "{url}"]
  tts     = "off"
}
`,
			`
F:3:16: Unsuitable value; media.max_bytes must be a size, such as "20MB" or "500KB".
    max_bytes  = "20"
F:4:16: Unsuitable value; media.transcribe must have an argument with {file} in it.
F:5:17: Unsuitable value; media.speak names a program that cannot be run here: clawhost-no-such-program.
F:6:16: Unsuitable value; media.timeout must be at least "1s".
    timeout    = "0"
F:7:16: Unsuitable value; media.tts needs the command that speaks: media.speak.
    tts        = "always"
F:10:14: Unsuitable value; links.command must not be empty.
F:11:3: Unknown argument; The block links has no argument "tts".
    tts …
`,
		},
		{
			"more of files and links",
			`
media {
  max_bytes  = "2GB"
  transcribe = "whisper {file}"
  speak      = ["sh"]
  tts        = "sometimes"
  accept     = ["image/*", "pictures", "*/*"]
}
links {
  command = [1, "{url}"]
}
`,
			`
F:3:16: Unsuitable value; media.max_bytes must be from 1 KB to 1 GB.
    max_bytes  = "2GB"
F:4:16: Unsuitable value; media.transcribe must be a list, such as ["a", "b"].
F:5:16: Unsuitable value; media.speak must have an argument with {out} in it.
F:6:16: Unsuitable value; media.tts must be "off", "inbound", "always" or "tagged".
    tts        = "sometimes"
F:7:28: Unsuitable value; media.accept must be a type of file, such as "image/*" or "application/pdf".
    accept     = ["image/*", "pictures", "*/*"]
F:7:40: Unsuitable value; media.accept must be a type of file, such as "image/*" or "application/pdf".
    accept     = ["image/*", "pictures", "*/*"]
F:10:14: Unsuitable value; links.command must be text in quotes.
`,
		},
		{
			"rules, memory flush and heartbeat",
			`
send {
  default = "maybe"
  rule {
    channel = "telegrm"
    chat    = "room"
    policy  = "denied"
  }
  rule {}
  rule {
    policy = null
    peer   = "x"
  }
  rule "x" {}
  rules {}
}
memory_flush {
  enabled = "sometimes"
  margin  = -1
  prompt  = ""
  model   = "haiku"
}
heartbeat {
  every  = "30ms"
  active = "08:00-08:00"
  target = "owners"
  prompt = "  "
}
reply {
  verbose   = "yes"
  reasoning = "loud"
  usage     = "cost"

  human_delay  = "2s-1s"
  ack_reaction = "seen it"
  max_lines    = -1
  block {
    min = 0
    max = 700
  }
}
plugin "telegram" {
  send {}
  heartbeat {}
}
`,
			`
F:3:13: Unsuitable value; send.default must be "allow" or "deny".
    default = "maybe"
F:5:15: Unknown channel; send.rule.channel names "telegrm", and no plugin block has this label. Did you mean "telegram"?
    channel = "telegrm"
F:6:15: Unsuitable value; send.rule.chat must be "", "direct", "group", "channel" or "thread".
    chat    = "room"
F:7:15: Unsuitable value; send.rule.policy must be "allow" or "deny".
    policy  = "denied"
F:9:8: Missing argument; The block send.rule needs the argument "policy".
    rule {}
F:10:8: Missing argument; The block send.rule needs the argument "policy".
    rule {
F:12:5: Unknown argument; The block send.rule has no argument "peer".
    peer …
F:14:8: Unexpected label; The block rule has no label.
    rule "x" {}
F:15:3: Unknown block; The block send has no block "rules". Did you mean "rule"?
    rules …
F:18:13: Unsuitable value; memory_flush.enabled must be true or false.
    enabled = "sometimes"
F:19:13: Unsuitable value; memory_flush.margin must be a whole number from 0 to 1000000.
    margin  = -1
F:20:13: Unsuitable value; memory_flush.prompt must not be empty.
    prompt  = ""
F:21:3: Unknown argument; The block memory_flush has no argument "model".
    model …
F:24:12: Unsuitable value; heartbeat.every must be "0" or at least "1s".
    every  = "30ms"
F:25:12: Unsuitable value; heartbeat.active must be two times of day, such as "08:00-22:00", or "".
    active = "08:00-08:00"
F:26:12: Unsuitable value; heartbeat.target must be "owner" or a person as "channel:user", such as "telegram:123".
    target = "owners"
F:27:12: Unsuitable value; heartbeat.prompt must not be empty.
    prompt = "  "
F:30:15: Unsuitable value; reply.verbose must be "off", "on" or "full".
    verbose   = "yes"
F:31:15: Unsuitable value; reply.reasoning must be "off", "on" or "stream".
    reasoning = "loud"
F:32:15: Unsuitable value; reply.usage must be "off", "tokens" or "full".
    usage     = "cost"
F:34:18: Unsuitable value; reply.human_delay must be "off", "natural", or two durations up to a minute, such as "800ms-2500ms".
    human_delay  = "2s-1s"
F:35:18: Unsuitable value; reply.ack_reaction must be one emoji.
    ack_reaction = "seen it"
F:36:18: Unsuitable value; reply.max_lines must be a whole number from 0 to 10000.
    max_lines    = -1
F:38:11: Unsuitable value; reply.block.min must be a whole number from 1 to 1048576.
    min = 0
F:39:11: Unsuitable value; reply.block.max must be at least reply.block.min, which is 800.
    max = 700
F:43:3: Unknown block; The block plugin has no block "send".
F:44:3: Unknown block; The block plugin has no block "heartbeat".
`,
		},
		{
			"a heartbeat in a group",
			`
heartbeat {
  target = "telegram:-1001"
}
plugin "telegram" {
  access {
    group "-1001" {}
  }
}
`,
			`
F:3:12: Unsuitable value; heartbeat.target must be a person, and telegram:-1001 is a group in access.group.
    target = "telegram:-1001"
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
F:4:14: Error in function call; Call to function "env" failed: the environment variable MISSING is not set.
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
}
`,
			`
F:3:3: Unknown argument; The block plugin has no argument "sorce". Did you mean "source"?
F:4:12: Unsuitable value; plugin.sha256 must be a SHA-256 checksum of 64 hexadecimal digits.
F:5:22: Unsuitable value; plugin.env holds a name that is none of an environment variable.
F:5:38: Unsuitable value; plugin.env must be text in quotes.
F:6:13: Unknown channel; plugin.grants names "q", and no plugin block has this label.
F:7:12: Unsuitable value; plugin.source must not be empty.
F:9:16: Unsuitable value; plugin.hook.timeout must be a duration, such as "500ms", "30s" or "2h".
F:10:16: Unsuitable value; plugin.hook.on_error must be "skip" or "fail".
F:13:13: Error in function call; Call to function "env" failed: the environment variable MISSING is not set.
F:14:13: Variables not allowed; Quote text, as in "steer"; for yes or no write true or false.
F:15:13: Error in function call; Call to function "env" failed: that is not the name of an environment variable.
F:16:5: Unexpected block; A plugin's config holds arguments only: write proxy = { … }.
F:20:3: Unknown block; The block plugin has no block "claude".
`,
		},
		{
			"claude's arguments and environment are the host's",
			`
claude {
  args = ["--verbose", "--model=x", "-p", "-dc", "--append-system-prompt-file", "--", "--debug", "--add-dir", "/x"]
  env  = { CLAUDE_CODE_DISABLE_ATTACHMENTS = "0", OK = "1" }
}
`,
			`
F:3:11: Unsuitable value; claude.args cannot hold --verbose: the host sets it.
F:3:24: Unsuitable value; claude.args cannot hold --model: the host sets it.
F:3:37: Unsuitable value; claude.args cannot hold -p: the host sets it.
F:3:43: Unsuitable value; claude.args cannot hold -c: the host sets it.
F:3:50: Unsuitable value; claude.args cannot hold --append-system-prompt-file: the host sets it.
F:3:81: Unsuitable value; claude.args cannot hold --: the host sets it.
F:4:46: Unsuitable value; claude.env cannot hold CLAUDE_CODE_DISABLE_ATTACHMENTS: the host sets it.
`,
		},
		{
			"a missing quote",
			`
agent {
  name = "Claw
}
log {
  levle = "info"
}
`,
			`
F:3:15: Invalid multi-line string; Quoted strings may not be split over multiple lines. To produce a multi-line string, either use the \n escape to represent a newline character or use the "heredoc" multi-line template syntax.
    name = "Claw
F:3:15: Unterminated template string; No closing marker was found for the string.
    name = "Claw
`,
		},
		{
			"keys are not told",
			`
claude {
  api_keys = [
    "secret-1 x", "secret-2",
  ]
}
`,
			`
F:4:5: Unsuitable value; claude.api_keys must be keys: characters of ASCII, and no white space.
`,
		},
		{
			"keys that are none",
			`
claude {
  api_keys = ["secret-1", "", 5]
}
`,
			`
F:3:27: Unsuitable value; claude.api_keys must not be empty.
F:3:31: Unsuitable value; claude.api_keys must be text in quotes.
`,
		},
		{
			"one key is no list",
			`
claude {
  api_keys = "secret-1"
}
`,
			`
F:3:14: Unsuitable value; claude.api_keys must be a list, such as ["a", "b"].
`,
		},
		{
			"credentials beside the host's keys",
			`
claude {
  api_keys = ["secret-1"]
  env = {
    ANTHROPIC_API_KEY       = "secret-2"
    ANTHROPIC_AUTH_TOKEN    = ""
    ANTHROPIC_BASE_URL      = "https://user:secret-3@api.test"
    CLAUDE_CODE_OAUTH_TOKEN = "secret-4"
  }
}
`,
			`
F:5:31: Unsuitable value; claude.env cannot hold ANTHROPIC_API_KEY beside claude.api_keys.
F:7:31: Unsuitable value; claude.env must hold an ANTHROPIC_BASE_URL that is an http or https address, without a user.
F:8:31: Unsuitable value; claude.env cannot hold CLAUDE_CODE_OAUTH_TOKEN beside claude.api_keys.
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
F:4:19: Error in function call; Call to function "file" failed: D/no-such-file: no such file or directory.
    system_prompt = file("no-such-file")
F:5:26: Unsuitable value; agent.context_files is not a path: ~ stands for your own home folder only; write ~/ or the whole path.
    context_files = ["ok", "~other"]
`,
		},
	}
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
				t.Errorf("a secret was told:\n%s", got)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.hcl")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.hcl"): "no such file or directory",
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
