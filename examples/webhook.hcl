# GitHub and a script of your own write to the agent by signed requests, and it answers in a group:
#   TELEGRAM_TOKEN=… GITHUB_WEBHOOK_SECRET=… BACKUP_SECRET=… bin/clawhost -config examples/webhook.hcl
# A proxy with TLS passes on https://hooks.example.com/github to http://127.0.0.1:8790/github.

state_dir = "~/.local/state/clawhost-webhook"

agent {
  workspace = "~/clawhost-webhook"
}

access {
  owners = ["telegram:123456789"]
  group "-1001234567890" {}
}

plugin "telegram" {
  config {
    token = env("TELEGRAM_TOKEN")
  }
}

plugin "webhook" {
  grants = ["telegram"]                      # the channel of the chats below
  config {
    listen   = "127.0.0.1:8790"
    max_body = 1048576
    hooks = {
      github = {                             # POST /github
        form     = "github"
        secret   = env("GITHUB_WEBHOOK_SECRET")
        to       = "telegram:group:-1001234567890"
        events   = ["issues.opened", "pull_request.opened"]
        prompt   = "Say in two sentences what this is about, and whether it is urgent."
      }
      backup = {                             # POST /backup, as Standard Webhooks
        secret   = env("BACKUP_SECRET")
        to       = "telegram:group:-1001234567890"
        template = "{{.event}}: {{.data.text}}"
      }
    }
  }
}
