# The three example plugins, which show each kind of plugin without an account anywhere:
#   bin/clawhost -config examples/plugins.hcl -demo
# and in another terminal, with bash, over the echo channel:
#   exec 3<>/dev/tcp/127.0.0.1/7777; printf 'anna 1 hello\nanna 2 /roll 2d6\n' >&3; timeout 3 cat <&3

state_dir = "~/.local/state/clawhost-plugins"

agent {
  workspace = "~/clawhost-plugins"
}

access {
  owners = ["echo:anna"]
}

# A channel: lines over TCP. Anybody who connects can claim to be anna, so keep it on this machine.
plugin "echo" {
  config {
    listen = "127.0.0.1:7777"
  }
}

# A command: /roll 2d6.
plugin "dice" {}

# A hook: it puts a line with the time before each message. If it fails, the turn fails.
plugin "clock" {
  hook {
    timeout  = "1s"
    on_error = "fail"
  }
  config {
    zone = "UTC"
  }
}
