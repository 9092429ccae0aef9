# The config of clawhost. It works as it is: open the web chat and talk to Claude Code.
# docs/configuration.md explains every name; `clawhost validate` checks the file.

state_dir = "~/.local/state/clawhost" # database, media, state of plugins

agent {
  name      = "Claw"
  workspace = "~/claw" # claude's working folder
  timezone  = "local"  # local, utc or a name such as "Europe/Berlin"
}

claude {
  command       = "claude" # found on PATH; uses its own login
  allowed_tools = []       # tools that run without asking, such as ["Read", "Bash(git *)"]
}

queue {
  mode = "steer" # a message that arrives while a turn runs is added to it
}

reply {
  stream = "preview" # answers are shown while they are written
}

access {
  owners = ["webchat:local"] # may do everything; written channel:user
  dm     = "pairing"         # a stranger gets a code for `clawhost pairing approve CODE`
  groups = "allowlist"       # only groups that have a block here:
  # group "-1001234567890" {
  #   require_mention = true
  # }
}

# A plugin's label is the name of its channel. The content of a disabled block is ignored.

plugin "webchat" {
  # A page on this machine; the host prints its address.
}

plugin "memory" {
  # The agent is reminded of MEMORY.md, memory/*.md and earlier conversations, in its owner's direct chats only.
  read_transcripts = true # also those from before it was switched on
  hook {
    timeout = "2s"
  }
}

plugin "schedule" {
  enabled = false
  grants  = ["webchat"] # the channels in whose chats it may write at set times
  config {
    timezone = "local"
    on_miss  = "ask" # a turn whose time passed while the host was down: run, ask or skip
  }
}

plugin "telegram" {
  enabled = false
  config {
    token = env("TELEGRAM_TOKEN") # from @BotFather
  }
}

plugin "whatsapp" {
  enabled = false # linked to an account with a code, not a token
  access {
    dm    = "allowlist" # others get no reply at all
    allow = []          # such as "whatsapp:+15551234567"
  }
  config {}
}

plugin "discord" {
  enabled = false
  config {
    token = env("DISCORD_TOKEN")
  }
}
