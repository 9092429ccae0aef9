# Reminders, and questions to Claude at set times, in Telegram and the web chat:
#   TELEGRAM_TOKEN=… bin/clawhost -config examples/schedule.hcl
# Write "/remind in 20m tea" or "/every weekday 9:00 what is new?", and "/schedule" to see what is scheduled.

state_dir = "~/.local/state/clawhost-schedule"

agent {
  workspace = "~/clawhost-schedule"
}

access {
  owners = ["telegram:123456789", "webchat:local"]
}

plugin "webchat" {}

plugin "telegram" {
  config {
    token = env("TELEGRAM_TOKEN")
  }
}

plugin "schedule" {
  grants = ["telegram", "webchat"] # the channels in whose chats it may write at set times
  config {
    timezone = "Europe/Berlin"     # default: the machine's
    on_miss  = "ask"               # what happens to a turn whose time passed while the host was down: run, ask or skip
  }
}
