package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/store/copying"
)

// store is the command for the database.
func (a *app) store() *cobra.Command {
	var noun *cobra.Command
	noun = a.command("store", "Copy the database between SQLite and PostgreSQL", "clawhost store copy -from DATABASE -to DATABASE",
		func(context.Context, []string) error { return noun.Help() })
	noun.AddCommand(a.storeCopy())
	return noun
}

// storeCopy is the command that copies it from one engine to the other.
func (a *app) storeCopy() *cobra.Command {
	var from, to string
	var replace bool
	c := a.command("copy -from DATABASE -to DATABASE", "Copy the database to a new one of the other kind, while no host runs", `
clawhost store copy -from /var/lib/clawhost/clawhost.db -to env:DATABASE_URL
clawhost store copy -from env:DATABASE_URL -to /var/lib/clawhost/clawhost.db`, func(ctx context.Context, args []string) error {
		if len(args) > 0 || from == "" || to == "" {
			return usage("store copy needs -from and -to, and a database for each")
		}
		source, err := a.database("from", from)
		if err != nil {
			return err
		}
		target, err := a.database("to", to)
		if err != nil {
			return err
		}
		for _, of := range []copying.Database{source, target} {
			if file, ok := of.(copying.File); ok {
				command := "store copy -from " + process.Quoted(from) + " -to " + process.Quoted(to)
				if err := ownedByUser(filepath.Dir(string(file)), "", command); err != nil {
					return err
				}
			}
		}
		return a.copyStore(ctx, copying.Options{From: source, To: target, Replace: replace})
	})
	c.Long = c.Short + `

A database is the path of clawhost.db, or sqlite:PATH; or a URL of PostgreSQL, postgres://USER@SERVER/NAME,
without a password; or env:NAME, where NAME is a variable that has the URL or DSN, of the environment or
of the file env beside the config. PostgreSQL's own PGPASSWORD and ~/.pgpass are used, too.`
	c.Flags().StringVar(&from, "from", "", "the `database` that is copied, which is not changed")
	c.Flags().StringVar(&to, "to", "", "the new `database`")
	c.Flags().BoolVar(&replace, "replace", false, "put U+FFFD in place of bytes that PostgreSQL keeps in no text")
	return c
}

// database returns the database that a flag names. Its text may have a secret, and is in no error.
func (a *app) database(flag, text string) (copying.Database, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "sqlite" && rest != "":
		return copying.File(rest), nil
	case kind == "env":
		lookup := os.LookupEnv
		if path, err := a.place(); err == nil {
			lookup = a.variable(path)
		}
		value, _ := lookup(rest)
		if value == "" {
			return nil, fmt.Errorf("-%s: the variable %s is not set, or is empty", flag, rest)
		}
		return server(flag, value)
	case kind == "postgres" || kind == "postgresql":
		u, err := url.Parse(text)
		if err != nil {
			return nil, usage("-%s is no URL: postgres://USER@SERVER/NAME", flag)
		}
		if _, given := u.User.Password(); given || u.Query().Has("password") {
			return nil, usage("-%s has a password, and whoever lists the processes can see it: put the URL into a variable of the environment, and write env:NAME", flag)
		}
		return server(flag, text)
	case strings.Contains(text, "=") || strings.Contains(text, "://"):
		return nil, usage("-%s is no path and no URL of PostgreSQL: for a path with these characters write sqlite:PATH; put a DSN into a variable of the environment, and write env:NAME", flag)
	}
	return copying.File(text), nil
}

func server(flag, dsn string) (copying.Database, error) {
	s, err := copying.NewServer(dsn)
	if err != nil {
		return nil, fmt.Errorf("-%s: %w", flag, err)
	}
	return s, nil
}

// copiedStore is what a copy says in JSON.
type copiedStore struct {
	From   string          `json:"from"`
	To     string          `json:"to"`
	Tables []copying.Table `json:"tables"`
	Rows   int64           `json:"rows"`
}

func (a *app) copyStore(ctx context.Context, opts copying.Options) error {
	opts.Watcher = &copyProgress{app: a, due: time.Now().Add(progressPause)}
	if !a.json {
		fmt.Fprintf(a.out, "Copying %s to %s.\n", printable(opts.From.String()), printable(opts.To.String()))
	}
	tables, err := copying.Copy(ctx, opts)
	if err != nil {
		return err
	}
	done := copiedStore{From: opts.From.String(), To: opts.To.String(), Tables: tables}
	for _, t := range tables {
		done.Rows += t.Rows
	}
	if a.json {
		return a.print(done)
	}
	fmt.Fprintf(a.out, "  %-20s %9d rows in %d tables, the same in both databases\n", "total", done.Rows, len(tables))
	fmt.Fprintln(a.out, `Media, exports and files of plugins are in state_dir where the database does not have them, and are not copied.
Start hosts with the new database only. With both, what waits would be answered twice.`)
	return nil
}

// progressPause is the time between two lines about a long copy.
const progressPause = 5 * time.Second

// copyProgress shows a copy: each table when it is done, and from time to time how far it is. It is a [copying.Watcher].
type copyProgress struct {
	*app
	due time.Time
}

// Copied implements [copying.Watcher].
func (p *copyProgress) Copied(table string, rows int64) { p.far("copied", table, rows) }

// Compared implements [copying.Watcher].
func (p *copyProgress) Compared(table string, rows int64) { p.far("compared", table, rows) }

func (p *copyProgress) far(done, table string, rows int64) {
	if now := time.Now(); now.After(p.due) {
		p.due = now.Add(progressPause)
		fmt.Fprintf(p.err, "%s: %d rows %s …\n", printable(table), rows, done)
	}
}

// Same implements [copying.Watcher].
func (p *copyProgress) Same(t copying.Table) {
	if p.json {
		return
	}
	const digits = 16 // of the digest, for people
	replaced := ""
	if t.Replaced > 0 {
		replaced = fmt.Sprintf("; U+FFFD was put into %d texts", t.Replaced)
	}
	fmt.Fprintf(p.out, "  %-20s %9d rows, SHA-256 %s…%s\n", printable(t.Name), t.Rows, t.Digest[:digits], replaced)
}
