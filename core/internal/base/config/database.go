package config

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// The drivers of the database.
const (
	SQLite   = "sqlite"   // a file in the state folder
	Postgres = "postgres" // a server, which several hosts may share
)

// Database is where the host keeps what must survive a crash.
type Database struct {
	Driver string        // [SQLite] (default), [Postgres]
	DSN    string        // of the server; a secret
	Lease  time.Duration // for how long a host may be silent before others take over its work; default 15 seconds
}

// The bounds of a lease: a shorter one ends by a pause of the machine, and a longer one leaves chats without an answer.
const (
	leastLease = 2 * time.Second
	mostLease  = 10 * time.Minute
)

func (db *Database) block() block {
	return block{path: "store", attrs: []attr{
		{"driver", oneOf(&db.Driver, SQLite, Postgres)},
		{"dsn", filled(&db.DSN)},
		{"lease", lease(&db.Lease)},
	}}
}

// lease stores the duration of a lease.
func lease(to *time.Duration) setter {
	return func(v value) {
		d := *to
		duration(&d, leastLease)(v)
		if d > mostLease {
			v.refuse(`must be at most "%s"`, mostLease)
			return
		}
		*to = d
	}
}

// Host is this host among those that share a database.
type Host struct {
	Name   string   // default: the name of the machine
	Labels []string // by which agents name it, besides its name
}

func (h *Host) block() block {
	return block{path: "host", attrs: []attr{
		{"name", hostWord(&h.Name)},
		{"labels", hostWords(&h.Labels)},
	}}
}

// Runs reports whether the host runs an agent.
func (h Host) Runs(a *Agent) bool {
	return len(a.RunsOn) == 0 || slices.ContainsFunc(a.RunsOn, func(on string) bool { return on == h.Name || slices.Contains(h.Labels, on) })
}

// Runs returns the labels of the agents that the host runs.
func (c *Config) Runs() (labels []string) {
	for _, a := range c.AllAgents() {
		if c.Host.Runs(a) {
			labels = append(labels, a.Label)
		}
	}
	return labels
}

// hostForm matches the names and labels of hosts.
var hostForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// hostWord returns the name or label of a host.
func (v value) hostWord() (string, bool) {
	s, ok := v.filled()
	if ok && !hostForm().MatchString(s) {
		v.refuse(`must be a name of 1 to 63 letters, digits, dots, _ and -, such as "build-1"`)
		return "", false
	}
	return s, ok
}

func hostWord(to *string) setter {
	return func(v value) {
		if s, ok := v.hostWord(); ok {
			*to = s
		}
	}
}

func hostWords(to *[]string) setter { return everyOne(to, value.hostWord) }

// checkDatabase checks what belongs together, and completes the host's name and the place of files.
func (d *decoder) checkDatabase(c *Config, body *hclsyntax.Body) {
	switch dsn := attribute(body, "store", "dsn"); {
	case c.Database.Driver == Postgres && c.Database.DSN == "" && d.leftOut(dsn):
		d.report(rangeOf(attribute(body, "store", "driver")), "Missing argument",
			`The block store needs the argument "dsn": the address of the server, such as dsn = env("DATABASE_URL").`)
	case c.Database.Driver != Postgres && !d.leftOut(dsn):
		d.report(dsn.NameRange, "Unsuitable argument", `The block store takes "dsn" only with driver = "postgres".`)
	}
	switch files := attribute(body, "media", "store"); {
	case c.Media.Store == InDatabase && c.Database.Driver != Postgres: // a file would grow by them, and only one host has it
		d.report(rangeOf(files), "Unsuitable value", `media.store can be "database" only with the driver "postgres" of the block store.`)
	case c.Media.Store == "" && c.Database.Driver == Postgres:
		c.Media.Store = InDatabase
	case c.Media.Store == "":
		c.Media.Store = InFolder
	}
	if c.Host.Name != "" || c.Database.Driver != Postgres {
		return
	}
	machine, _ := os.Hostname()
	if machine, _, _ = strings.Cut(machine, "."); !hostForm().MatchString(machine) {
		d.report(rangeOf(attribute(body, "store", "driver")), "Missing argument",
			`The block host needs the argument "name", because the machine has no name that can be one.`)
		return
	}
	c.Host.Name = machine
}
