# Tools of plugins: the agent keeps to-do lists and searches its memory.
#   bin/clawhost -config examples/todo.hcl
# Open the address that it prints and ask: "Put milk on my list. What else is there to do?"

state_dir = "~/.local/state/clawhost-todo"

agent {
  workspace = "~/clawhost-todo"
}

access {
  owners = ["webchat:local"]
}

plugin "webchat" {}

# Claude knows its tools as mcp__clawhost__todo_list, mcp__clawhost__todo_add and mcp__clawhost__todo_done.
plugin "todo" {
  config {
    most = 20
  }
}

# mcp__clawhost__memory_search and mcp__clawhost__memory_get.
plugin "memory" {
  config {
    workspace = "~/clawhost-todo"
  }
}
