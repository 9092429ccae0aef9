// Package copying copies a store from one engine to the other.
//
// A store may be larger than one transaction should be, and so a copy takes many. One that was interrupted is recognised: the table
// "store", which has a row in every other database, is empty from the first transaction on, and the last one fills it when everything has
// been copied and compared. No host uses such a database, and it is neither copied nor copied into.
package copying

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/migrations"
)

const (
	marker  = "store"          // the table that an unfinished copy has empty
	version = "schema_version" // the table that each database has of its own
)

// Options are the settings of a copy.
type Options struct {
	From, To Database
	// Replace has U+FFFD take the place of what the target keeps in no text, such as NUL in PostgreSQL. Otherwise such a text is an error.
	Replace bool
	Watcher Watcher // follows the copy; nil: nobody does
}

// Watcher follows a copy. Its methods are called one after the other.
type Watcher interface {
	// Copied says that so many rows of a table have been copied.
	Copied(table string, rows int64)
	// Compared says that so many rows of a table have been read again from one of the databases.
	Compared(table string, rows int64)
	// Same says that a table is the same in both databases.
	Same(t Table)
}

// Table is a table that was copied.
type Table struct {
	Name     string `json:"name"`
	Rows     int64  `json:"rows"`
	Digest   string `json:"digest"`             // of all rows in the order of their keys
	Replaced int64  `json:"replaced,omitempty"` // texts in which something was replaced
}

// Copy copies everything that the store From has to To, which has to be new, and compares both. From is not changed, and no host may use
// either. It returns the tables in the order in which they were compared. After an error To is not to be used: if the copy has begun, every
// opening of it returns [engine.ErrUnfinished].
func Copy(ctx context.Context, opts Options) (done []Table, err error) {
	if reflect.TypeOf(opts.From) == reflect.TypeOf(opts.To) {
		return nil, errors.New(opts.From.instead())
	}
	if opts.Watcher == nil {
		opts.Watcher = nobody{}
	}
	c := &copier{Options: opts}
	err = opts.From.read(ctx, func(source engine.Querier) error {
		c.source = source
		if err := c.examine(); err != nil {
			return err
		}
		for _, step := range []func(context.Context) error{c.fill, c.compare, c.finish} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && c.begun {
		err = fmt.Errorf("%s is not finished, and no host uses it: delete it, and copy again: %w", opts.To, err)
	}
	return c.done, err
}

type copier struct {
	Options
	source   engine.Querier
	all      []engine.Table
	tables   []engine.Table // all that are copied before the marker
	marker   engine.Table
	counters map[string]int64
	done     []Table
	begun    bool // the target is an unfinished copy
}

// examine refuses a source that cannot be copied as it is.
func (c *copier) examine() error {
	tables, schema, err := c.From.tables(c.source)
	if err != nil {
		return fmt.Errorf("%s is no store of clawhost, or cannot be read as one: %w", c.From, err)
	}
	switch current := migrations.Current(); {
	case schema < current:
		return fmt.Errorf("%s has schema %d, and this clawhost works with %d: start the host with this version once, stop it, and copy again", c.From, schema, current)
	case schema > current:
		return fmt.Errorf("%s: %w (schema %d; this one knows up to %d): upgrade clawhost", c.From, engine.ErrNewer, schema, current)
	}
	c.all = tables
	for _, t := range tables {
		switch t.Name {
		case marker:
			c.marker = t
		case version:
		default:
			c.tables = append(c.tables, t)
		}
	}
	if err := finished(c.source, c.From); err != nil {
		return err
	}
	c.counters, err = c.From.counters(c.source)
	return err
}

func hasRows(of engine.Querier, table string) (some bool, err error) {
	err = of.Row(`SELECT EXISTS (SELECT 1 FROM `+quoted(table)+`)`, nil, &some)
	return some, err
}

// finished returns an error for an unfinished copy.
func finished(of engine.Querier, name Database) error {
	some, err := hasRows(of, marker)
	if err == nil && !some {
		err = fmt.Errorf("%s: %w", name, engine.ErrUnfinished)
	}
	return err
}

// write opens the target for f.
func (c *copier) write(ctx context.Context, f func(engine.Engine) error) (err error) {
	db, err := c.To.open(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", c.To, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}

// fill copies all tables but the marker.
func (c *copier) fill(ctx context.Context) error {
	return c.write(ctx, func(target engine.Engine) error {
		if err := engine.Change(ctx, target, "begin the copy", c.begin); err != nil {
			return err
		}
		c.begun = true
		for _, t := range c.tables {
			if err := c.copyTable(ctx, target, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// begin makes a new target an unfinished copy.
func (c *copier) begin(t *engine.Tx) error {
	tables, _, err := c.To.tables(t)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(tables, c.all) {
		return fmt.Errorf("%s and %s have different tables: %s. Give the store a database, or a schema, that nothing else uses",
			c.From, c.To, strings.Join(different(c.all, tables), ", "))
	}
	if err := finished(t, c.To); err != nil {
		return err
	}
	counters, err := c.To.counters(t) // of rows that are perhaps gone
	if err != nil {
		return err
	}
	used := slices.Sorted(maps.Keys(counters))
	for _, table := range c.tables {
		some, err := hasRows(t, table.Name)
		if err != nil {
			return err
		}
		if some && !slices.Contains(used, table.Name) {
			used = append(used, table.Name)
		}
	}
	if len(used) > 0 {
		return fmt.Errorf("%s has been used as a store already, by its tables %s, and nothing was changed: copy into a new database", c.To, strings.Join(used, ", "))
	}
	_, err = t.Exec(`DELETE FROM ` + quoted(marker))
	return err
}

// different names the tables that are not the same.
func different(some, others []engine.Table) (names []string) {
	byName := map[string]engine.Table{}
	for _, t := range some {
		byName[t.Name] = t
	}
	for _, t := range others {
		if !reflect.DeepEqual(byName[t.Name], t) {
			names = append(names, t.Name)
		}
		delete(byName, t.Name)
	}
	return append(names, slices.Sorted(maps.Keys(byName))...)
}

// compare reads all tables but the marker again, from both databases.
func (c *copier) compare(ctx context.Context) error {
	return c.To.read(ctx, func(target engine.Querier) error {
		var differ []string
		for _, t := range c.tables {
			same, err := c.compareTable(target, t)
			if err != nil {
				return err
			}
			if !same {
				differ = append(differ, t.Name)
			}
		}
		return c.differing(differ)
	})
}

func (c *copier) compareTable(target engine.Querier, t engine.Table) (same bool, err error) {
	want, err := c.sum(c.source, t, c.fit)
	if err != nil {
		return false, fmt.Errorf("read %s again: %w", c.From, err)
	}
	got, err := c.sum(target, t, func(text string) string { return text })
	if err != nil {
		return false, fmt.Errorf("read %s again: %w", c.To, err)
	}
	if got.Rows != want.Rows || got.Digest != want.Digest {
		return false, nil
	}
	c.done = append(c.done, want)
	c.Watcher.Same(want)
	return true, nil
}

// differing returns an error if tables differ.
func (c *copier) differing(tables []string) error {
	if len(tables) == 0 {
		return nil
	}
	return fmt.Errorf("it differs from %s in %s; if it does so again, the disk or the memory of a machine may be damaged",
		c.From, strings.Join(tables, ", "))
}

// fit returns a text as it is copied.
func (c *copier) fit(text string) string {
	if c.Replace {
		return c.To.fit(text)
	}
	return text
}

// finish makes the target a store: it copies the marker, and has new rows numbered as in the source.
func (c *copier) finish(ctx context.Context) error {
	var rows [][]any
	r := newReader(c.marker)
	if err := c.source.Each(r.query, nil, func(found engine.Rows) error {
		row, _, err := r.row(found)
		rows = append(rows, row)
		return err
	}); err != nil {
		return err
	}
	return c.write(ctx, func(target engine.Engine) error {
		return engine.Change(ctx, target, "finish the copy", func(t *engine.Tx) error {
			if err := insert(t, c.marker, rows); err != nil {
				return err
			}
			if err := c.count(t); err != nil {
				return err
			}
			if same, err := c.compareTable(t, c.marker); err != nil || !same {
				return errors.Join(err, c.differing([]string{marker}))
			}
			return nil
		})
	})
}

// count sets the greatest ids, which were perhaps given to rows that are gone.
func (c *copier) count(t *engine.Tx) error {
	want := maps.Clone(c.counters)
	there, err := c.To.counters(t)
	if err != nil {
		return err
	}
	for table, last := range there {
		want[table] = max(want[table], last)
	}
	for table, last := range want {
		if err := c.To.setCounter(t, table, last); err != nil {
			return fmt.Errorf("set the greatest id of %s: %w", table, err)
		}
	}
	if there, err = c.To.counters(t); err != nil || !maps.Equal(there, want) {
		return errors.Join(err, c.differing([]string{"the greatest ids"}))
	}
	return nil
}

// nobody follows a copy.
type nobody struct{}

func (nobody) Copied(string, int64)   {}
func (nobody) Compared(string, int64) {}
func (nobody) Same(Table)             {}
