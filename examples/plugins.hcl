# The three example plugins, to see how each kind works without an account anywhere:
#   bin/clawhost -config examples/plugins.hcl -demo
# and in another terminal, in bash, over the echo channel:
#   exec 3<>/dev/tcp/127.0.0.1/7777; printf 'anna 1 hello\nanna 2 /roll 2d6\n' >&3; timeout 3 cat <&3

state_dir = "~/.local/state/clawhost-plugins"

agent {
  workspace = "~/clawhost-plugins"
}

access {
  owners = ["echo:anna"]
}

# A channel: lines over TCP. Whoever connects may call himself anna, so keep it on this machine.
plugin "echo" {
  config {
    listen = "127.0.0.1:7777"
  }
}

# A command: /roll 2d6.
plugin "dice" {}

# A hook: it puts a line with the time before each message. A turn does not begin without it.
plugin "clock" {
  hook {
    timeout  = "1s"
    on_error = "fail"
  }
  config {
    zone = "UTC"
  }
}
