package main

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// maxStatements limits the prepared statements of a connection. Some have as many parameters as a group has members.
const maxStatements = 100

// statements is a database connector whose connections cache prepared statements. The library passes its statements as text
// each time, and SQLite takes longer to parse one than to run it.
type statements struct {
	driver driver.Driver
	source string
}

// connection is the part of the SQLite driver's connection that is used. Without ExecContext and QueryContext, statements
// go through Prepare.
type connection interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.SessionResetter
	driver.Validator
	driver.Pinger
}

// Connect implements driver.Connector.
func (s statements) Connect(context.Context) (driver.Conn, error) {
	c, err := s.driver.Open(s.source)
	if err != nil {
		return nil, err
	}
	inner, ok := c.(connection)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("a connection of type %T cannot keep statements", c)
	}
	return &keeping{inner, map[string]*statement{}}, nil
}

// Driver implements driver.Connector.
func (s statements) Driver() driver.Driver { return s.driver }

// keeping is a connection that caches its statements. It is used by one goroutine at a time.
type keeping struct {
	connection
	kept map[string]*statement // by text
}

// PrepareContext implements driver.ConnPrepareContext.
func (k *keeping) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	known := k.kept[text]
	if known != nil && !known.used {
		known.used = true
		return known, nil
	}
	inner, err := k.connection.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	prepared, ok := inner.(contextual)
	if !ok || known != nil || len(k.kept) >= maxStatements {
		return inner, nil // a statement in use must not be used twice
	}
	k.kept[text] = &statement{prepared, true}
	return k.kept[text], nil
}

// Close implements driver.Conn.
func (k *keeping) Close() error {
	for _, s := range k.kept {
		_ = s.contextual.Close() // the connection frees its memory
	}
	return k.connection.Close()
}

// contextual is a statement of SQLite's driver.
type contextual interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statement is a cached statement.
type statement struct {
	contextual
	used bool
}

// Close implements driver.Stmt: the statement becomes available again.
func (s *statement) Close() error {
	s.used = false
	return nil
}
