package domain

import "time"

// Member is a process of a host that shares its database with others.
type Member struct {
	ID         string // of the process, used once
	Name       string // of the host
	Version    string
	Labels     []string
	StartedAt  time.Time
	LeaseUntil time.Time
	GoneAt     time.Time // when others took over what it had; zero: it has it
	Silent     bool      // its lease has ended, and nobody has taken over yet
	Draining   bool      // it takes no more turns and duties
	Runs       int64     // that it has in hand
}

// Duty is something that one host at a time does.
type Duty struct {
	Name  string
	Host  string // its name
	Since time.Time
}

// PluginCall is a call of a plugin that goes over the database, because another host runs the plugin.
type PluginCall struct {
	ID      int64
	Plugin  string
	Method  string // of gRPC, such as /service/Method
	Request []byte // its message
	Expires time.Duration
}

// CallEnd is how a call has ended.
type CallEnd struct {
	Code    uint32 // of gRPC
	Message string
}
