# What the configs of all scripts have unless they say otherwise: a full log, and no waiting for further messages.
log {
  level = "debug"
}
inbound {
  debounce = "0"
}
queue {
  debounce = "0"
}
