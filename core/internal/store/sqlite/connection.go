package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// connection is a connection to the database. One goroutine at a time uses it. It is an [engine.Conn].
type connection struct {
	*sqlite.Conn

	// prepared are its statements, by their text. Their number is bounded: every text is a constant. SQLite
	// plans a statement again each time that a bare parameter of a LIMIT is bound, which takes longer than most statements;
	// LIMIT ?1 + 0 avoids that. The library's own cache would reset each statement once more.
	prepared map[string]*sqlite.Stmt
}

// connect opens a connection and runs the pragmas on it.
func connect(path string, pragmas ...string) (*connection, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(10 * time.Second)
	c := &connection{Conn: conn, prepared: map[string]*sqlite.Stmt{}}
	for _, pragma := range append(pragmas, "mmap_size = 0") {
		if err := c.run("PRAGMA " + pragma); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return c, nil
}

// run runs a statement that is not cached and returns no rows that matter.
func (c *connection) run(query string) error {
	return sqlitex.ExecuteTransient(c.Conn, query, nil)
}

// rows are the results of a statement in progress.
type rows struct{ stmt *sqlite.Stmt }

// Query implements [engine.Conn].
func (c *connection) Query(ctx context.Context, query string, args []any, scan func(engine.Rows) error) error {
	r, err := c.begin(query, args)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer r.close()
	for {
		switch more, err := r.next(); {
		case err != nil:
			return interrupted(ctx, err)
		case !more:
			return nil
		}
		if err := scan(r); err != nil {
			return err
		}
	}
}

// Exec implements [engine.Conn].
func (c *connection) Exec(ctx context.Context, query string, args []any) (int64, error) {
	if err := c.Query(ctx, query, args, func(engine.Rows) error { return nil }); err != nil {
		return 0, err
	}
	return int64(c.Changes()), nil
}

// interrupted returns the error of the context in place of that of a statement that its end has interrupted.
func interrupted(ctx context.Context, err error) error {
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// begin begins a statement. The caller closes it.
func (c *connection) begin(query string, args []any) (rows, error) {
	stmt := c.prepared[query]
	if stmt == nil {
		var err error
		if stmt, err = c.Prepare(query); err != nil {
			return rows{}, err
		}
		c.prepared[query] = stmt
	}
	for i, arg := range args {
		if err := bind(stmt, i+1, arg); err != nil {
			rows{stmt}.close()
			return rows{}, err
		}
	}
	return rows{stmt}, nil
}

// next reports whether there is another row.
func (r rows) next() (bool, error) { return r.stmt.Step() }

// close ends the statement, so that it holds no lock and no values.
func (r rows) close() {
	_ = r.stmt.Reset() // it repeats the error of the last step
	_ = r.stmt.ClearBindings()
}

// Scan copies the columns of the current row.
func (r rows) Scan(dest ...any) error {
	for i, d := range dest {
		if err := assign(d, r.stmt, i); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// assign copies a column. NULL needs an [sql.Scanner], such as an [sql.NullInt64].
func assign(dest any, stmt *sqlite.Stmt, column int) error {
	kind := stmt.ColumnType(column)
	switch d := dest.(type) {
	case sql.Scanner:
		switch kind {
		case sqlite.TypeNull:
			return d.Scan(nil)
		case sqlite.TypeInteger:
			return d.Scan(stmt.ColumnInt64(column))
		default:
			return d.Scan(stmt.ColumnText(column))
		}
	case *[]byte:
		*d = make([]byte, stmt.ColumnLen(column))
		stmt.ColumnBytes(column, *d)
		return nil
	}
	v := reflect.ValueOf(dest).Elem()
	switch {
	case v.Kind() == reflect.String && kind != sqlite.TypeNull:
		v.SetString(stmt.ColumnText(column))
	case v.CanInt() && kind == sqlite.TypeInteger:
		v.SetInt(stmt.ColumnInt64(column))
	case v.CanUint() && kind == sqlite.TypeInteger && stmt.ColumnInt64(column) >= 0:
		v.SetUint(uint64(stmt.ColumnInt64(column)))
	case v.Kind() == reflect.Bool && kind == sqlite.TypeInteger:
		v.SetBool(stmt.ColumnInt64(column) != 0)
	default:
		return fmt.Errorf("%v in place of %v", kind, v.Type())
	}
	return nil
}

// bind sets a parameter of a statement.
func bind(stmt *sqlite.Stmt, parameter int, arg any) error {
	switch a := arg.(type) {
	case nil:
		stmt.BindNull(parameter)
		return nil
	case string:
		stmt.BindText(parameter, a)
		return nil
	case int64:
		stmt.BindInt64(parameter, a)
		return nil
	case []byte:
		stmt.BindBytes(parameter, a)
		return nil
	case driver.Valuer:
		value, err := a.Value()
		if err != nil {
			return err
		}
		return bind(stmt, parameter, value)
	}
	switch v := reflect.ValueOf(arg); {
	case v.Kind() == reflect.String:
		stmt.BindText(parameter, v.String())
	case v.CanInt():
		stmt.BindInt64(parameter, v.Int())
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		stmt.BindInt64(parameter, int64(v.Uint()))
	case v.Kind() == reflect.Bool:
		stmt.BindBool(parameter, v.Bool())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		stmt.BindBytes(parameter, v.Bytes())
	default:
		return fmt.Errorf("no column holds a %T", arg)
	}
	return nil
}
