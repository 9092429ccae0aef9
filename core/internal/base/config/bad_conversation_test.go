package config_test

import "testing"

// Behaviour: heartbeat-target.
func TestBadConversations(t *testing.T) {
	t.Parallel()
	refuse(t, []bad{
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
F:6:13: Unsuitable value; session.identity_links contains a name that is not 1 to 64 letters, digits, - and _.
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
			"who may use commands",
			`
access {
  allow         = ["telegram:group:-100", "*"]
  commands_from = ["*", "telegram:*", "telegram:group:", "telegrm:group:1", "group:1"]
}
plugin "telegram" { enabled = false }
`,
			`
F:3:20: Unsuitable value; access.allow names people one by one, not groups.
    allow         = ["telegram:group:-100", "*"]
F:3:43: Unsuitable value; access.allow names people one by one; dm and groups have "open" for everybody.
    allow         = ["telegram:group:-100", "*"]
F:4:25: Unsuitable value; access.commands_from has "*" for everybody who may write, on any channel.
    commands_from = ["*", "telegram:*", "telegram:group:", "telegrm:group:1", "group:1"]
F:4:39: Unsuitable value; access.commands_from must name groups as "channel:group:id", such as "telegram:group:-100123".
    commands_from = ["*", "telegram:*", "telegram:group:", "telegrm:group:1", "group:1"]
F:4:58: Unknown channel; access.commands_from names "telegrm", and no plugin block has this label. Did you mean "telegram"?
    commands_from = ["*", "telegram:*", "telegram:group:", "telegrm:group:1", "group:1"]
F:4:77: Unknown channel; access.commands_from names "group", and no plugin block has this label.
    commands_from = ["*", "telegram:*", "telegram:group:", "telegrm:group:1", "group:1"]
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
plugin "q" {
  inbound {
    debounce = "soon"
  }
}
plugin "r" {
  inbound {
    debounce = 5
  }
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
F:4:17: Unsuitable value; claude.aliases contains Fast and fast, which differ only in case.
    fast      = "haiku"
F:6:17: Unsuitable value; claude.aliases must be one name.
    flag      = "-p"
F:7:17: Unsuitable value; claude.aliases contains a name that is not 1 to 64 letters, digits, - and _, or that begins with -.
    "a b"     = "x"
F:8:17: Unsuitable value; claude.aliases contains a name that is not 1 to 64 letters, digits, - and _, or that begins with -.
    "-x"      = "x"
F:9:17: Unsuitable value; claude.aliases must not be empty.
    empty     = " "
F:10:17: Unsuitable value; claude.aliases must be one name.
    two       = "a b"
F:11:17: Unsuitable value; claude.aliases must be text in quotes.
    number    = 5
F:15:14: Unsuitable value; inbound.debounce must be at least "0s".
    debounce = "-1s"
F:19:16: Unsuitable value; inbound.debounce must be "auto" or a duration, such as "500ms", "30s" or "2h".
F:24:16: Unsuitable value; inbound.debounce must be "auto" or a duration, such as "500ms", "30s" or "2h".
F:28:14: Unsuitable value; queue.mode must be MODES. Did you mean "steer"?
    mode     = "steeer"
F:29:14: Unsuitable value; queue.debounce must be a duration, such as "500ms", "30s" or "2h".
    debounce = 500
F:30:14: Unsuitable value; queue.cap must be a whole number from 1 to 1000.
    cap      = 0
F:31:14: Unsuitable value; queue.drop must be "summarize", "old" or "new".
    drop     = "none"
F:35:11: Unsuitable value; queue.cap must be a whole number from 1 to 1000.
`,
		},
		{
			"when sessions start again, and groups",
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
F:4:16: Unsuitable value; media.transcribe must contain an argument with {file}.
F:5:17: Unsuitable value; media.speak names a program that cannot be run here: clawhost-no-such-program.
F:6:16: Unsuitable value; media.timeout must be at least "1s".
    timeout    = "0"
F:7:16: Unsuitable value; media.tts needs media.speak, the command that speaks.
    tts        = "always"
F:10:14: Unsuitable value; links.command must not be empty.
F:11:3: Unknown argument; The block links has no argument "tts".
    tts …
`,
		},
		{
			"a model beside a command",
			`
media {
  transcribe       = ["sh", "{file}"]
  transcribe_model = "/dev/null"
}
`,
			`
F:4:22: Unsuitable value; media.transcribe_model has no effect with media.transcribe: name the model in the command.
    transcribe_model = "/dev/null"
`,
		},
		{
			"a model that is not there",
			`
media {
  transcribe_model = "/no/such/model.bin"
}
`,
			`
F:3:22: Unsuitable value; media.transcribe_model names a model that is not there: /no/such/model.bin.
    transcribe_model = "/no/such/model.bin"
`,
		},
		{
			"the place of files",
			`
media {
  store = "shelf"
}
`,
			`
F:3:11: Unsuitable value; media.store must be "folder" or "database".
    store = "shelf"
`,
		},
		{
			"files in a database that is a file",
			`
media {
  store = "database"
}
`,
			`
F:3:11: Unsuitable value; media.store can be "database" only with the driver "postgres" of the block store.
    store = "database"
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
commands {
  bash = "perhaps"
}
`,
			`
F:3:16: Unsuitable value; media.max_bytes must be from 1 KB to 1 GB.
    max_bytes  = "2GB"
F:4:16: Unsuitable value; media.transcribe must be a list, such as ["a", "b"].
F:5:16: Unsuitable value; media.speak must contain an argument with {out}.
F:6:16: Unsuitable value; media.tts must be "off", "inbound", "always" or "tagged".
    tts        = "sometimes"
F:7:28: Unsuitable value; media.accept must be a type of file, such as "image/*" or "application/pdf".
    accept     = ["image/*", "pictures", "*/*"]
F:7:40: Unsuitable value; media.accept must be a type of file, such as "image/*" or "application/pdf".
    accept     = ["image/*", "pictures", "*/*"]
F:10:14: Unsuitable value; links.command must be text in quotes.
F:13:10: Unsuitable value; commands.bash must be true or false.
    bash = "perhaps"
`,
		},
		{
			"rules, memory flush and heartbeat",
			`
send {
  default = "maybe"
  rule {
    channel = "telegrm"
    chat    = "club"
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
  reserve = -1
  prompt  = ""
  model   = "haiku"
}
heartbeat {
  every  = "30ms"
  active = "08:00-08:00"
  target = "owners"
  prompt = "  "
  model  = "a model"
  session = "main"
}
reply {
  verbose   = "yes"
  reasoning = "loud"
  usage     = "cost"
  changes   = "names"
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
    chat    = "club"
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
F:20:13: Unsuitable value; memory_flush.reserve must be a whole number from 0 to 1000000.
    reserve = -1
F:21:13: Unsuitable value; memory_flush.prompt must not be empty.
    prompt  = ""
F:22:3: Unknown argument; The block memory_flush has no argument "model".
    model …
F:25:12: Unsuitable value; heartbeat.every must be "0" or at least "1s".
    every  = "30ms"
F:26:12: Unsuitable value; heartbeat.active must be two times of day, such as "08:00-22:00", or "".
    active = "08:00-08:00"
F:27:12: Unsuitable value; heartbeat.target must be "owner" or a person as "channel:user", such as "telegram:123".
    target = "owners"
F:28:12: Unsuitable value; heartbeat.prompt must not be empty.
    prompt = "  "
F:29:12: Unsuitable value; heartbeat.model must be one name.
    model  = "a model"
F:30:13: Unsuitable value; heartbeat.session must be "chat" or "own".
    session = "main"
F:33:15: Unsuitable value; reply.verbose must be "off", "on" or "full".
    verbose   = "yes"
F:34:15: Unsuitable value; reply.reasoning must be "off", "on" or "stream".
    reasoning = "loud"
F:35:15: Unsuitable value; reply.usage must be "off", "tokens" or "full".
    usage     = "cost"
F:36:15: Unsuitable value; reply.changes must be "off" or "on".
    changes   = "names"
F:37:18: Unsuitable value; reply.human_delay must be "off", "natural", or two durations up to a minute, such as "800ms-2500ms".
    human_delay  = "2s-1s"
F:38:18: Unsuitable value; reply.ack_reaction must be one emoji.
    ack_reaction = "seen it"
F:39:18: Unsuitable value; reply.max_lines must be a whole number from 0 to 10000.
    max_lines    = -1
F:41:11: Unsuitable value; reply.block.min must be a whole number from 1 to 1048576.
    min = 0
F:42:11: Unsuitable value; reply.block.max must be at least reply.block.min, which is 800.
    max = 700
F:46:3: Unknown block; The block plugin has no block "send".
F:47:3: Unknown block; The block plugin has no block "heartbeat".
`,
		},
		{
			"answers by kind of chat",
			`
reply {
  chat "group" {
    silent  = "yes"
    visible = "all"
    stream  = "off"
  }
  chat "group" {}
  chat "topic" {}
  chat {}
}
`,
			`
F:4:15: Unsuitable value; reply.chat.silent must be true or false.
    silent  = "yes"
F:5:15: Unsuitable value; reply.chat.visible must be "answer" or "tool".
    visible = "all"
F:6:5: Unknown argument; The block reply.chat has no argument "stream".
    stream …
F:8:3: Duplicate block; There is a block chat "group" at F:3:3 already.
    chat "group" {}
F:9:8: Unsuitable label; The label of the block chat must be "direct", "group" or "channel".
    chat "topic" {}
F:10:3: Wrong number of labels; The block chat has one label: chat "name" { … }.
    chat {}
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
	})
}
