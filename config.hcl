# clawhost's config. It runs as it is: open the web chat and talk to Claude Code.
# Every name is explained in docs/configuration.md; `clawhost validate` checks the file.

state_dir = "~/.local/state/clawhost" # database, media, plugins' state

agent {
  name      = "Claw"
  workspace = "~/claw" # claude's working folder
  timezone  = "local"  # local, utc or a name such as "Europe/Berlin"
}

claude {
  command       = "claude" # found on PATH; its own login is used
  allowed_tools = []       # tools that run unasked, such as ["Read", "Bash(git *)"]
}

queue {
  mode = "steer" # a message that arrives while a turn runs is told to it
}

reply {
  stream = "preview" # answers are shown while they are written
}

access {
  owners = ["webchat:local"] # who may do everything, as channel:user
  dm     = "pairing"         # a stranger gets a code for `clawhost pairing approve CODE`
  groups = "allowlist"       # only in groups that have a block here:
  # group "-1001234567890" {
  #   require_mention = true
  # }
}

# A plugin's label is its channel's name. Nothing of a disabled block is looked at.

plugin "webchat" {
  # A page on this machine; the host prints its address.
}

plugin "telegram" {
  enabled = false
  config {
    token = env("TELEGRAM_TOKEN") # from @BotFather
  }
}

plugin "whatsapp" {
  enabled = false # linked to an account by a code, not by a token
  access {
    dm    = "allowlist" # others hear nothing, not even that there is an agent
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
