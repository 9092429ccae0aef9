# The memory plugin reminds the agent of its memory files and of earlier conversations:
#   TELEGRAM_TOKEN=… bin/clawhost -config examples/memory.hcl

state_dir = "~/.local/state/clawhost-memory"

agent {
  workspace = "~/clawhost-memory"
}

access {
  owners = ["webchat:local", "telegram:123456789"]
}

plugin "webchat" {}

plugin "telegram" {
  config {
    token = env("TELEGRAM_TOKEN")
  }
}

plugin "memory" {
  read_transcripts = true                    # also conversations from before it was switched on
  hook {
    timeout  = "2s"
    on_error = "skip"                        # without its memories a turn starts anyway
  }
  config {
    max_passages = 5
    max_bytes    = 6000
    memory_file  = 8000                      # of MEMORY.md itself, once in a conversation
    sessions     = true                      # conversations too, not only files
    open_to      = []                        # e.g. ["telegram:group:-100123"]: everybody in it may see your notes
    same_person  = ["webchat:local", "telegram:123456789"]
  }
}
