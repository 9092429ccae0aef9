package domain

// Process is a child process of the host, kept so that the next life can end it.
type Process struct {
	Kind      string // "plugin" or "claude"
	Name      string // the plugin's instance or the claude session
	PID       int
	StartTime uint64 // /proc/PID/stat's starttime in ticks: a pid that was reused has another one
	BootID    string
	Mark      string // what the environment of it and of all that it starts carries; empty: not known
	Host      Host   // the store fills it in
}

// Host is the process that recorded another one. The zero Host is not known.
type Host struct {
	PID       int
	StartTime uint64
}
