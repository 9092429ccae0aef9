# One person and one Telegram bot. Set TELEGRAM_TOKEN to the token from @BotFather, then
#   bin/clawhost -config examples/telegram.hcl
# The bot answers your first message with a code; `clawhost pairing approve CODE` lets you in.

agent {
  name      = "Claw"
  workspace = "~/claw"
}

claude {
  # These run without asking, for everybody who may write. For any other tool that needs a permission, Claude asks in the chat.
  allowed_tools = ["WebSearch", "Edit(notes/**)"]
  timeout       = "15m"
}

access {
  owners = ["webchat:local"] # add "telegram:YOUR-ID", which `clawhost pairing list` shows
  dm     = "pairing"
}

plugin "webchat" {}

plugin "telegram" {
  config {
    token = env("TELEGRAM_TOKEN")
  }
}
