# What a script has that brings no config of its own: the bot is Anna's, and everybody may write to it.
queue {
  receipt = false
}
reply {
  stream = "off"
}
access {
  owners = ["telegram:1001"]
  dm     = "open"
  groups = "open"
}
plugin "telegram" {
  config {
    token        = env("BOT_TOKEN")
    api_endpoint = env("BOT_URL")
  }
}
