package domain

// Process is a child process of the host, recorded so that the next host process can end it.
type Process struct {
	Kind      string // "plugin", "claude" or "shell"
	Name      string // the plugin's instance, the claude session, or the name of the line for the shell
	PID       int
	StartTime uint64 // starttime of /proc/PID/stat in ticks, to recognise a reused pid
	BootID    string
	Mark      string // a mark in the environment of the process and its descendants; empty: unknown
	Host      Host   // set by the store
}

// Host is the process that recorded another one. The zero Host is unknown.
type Host struct {
	PID       int
	StartTime uint64
}
