package postgres

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Away reports whether something has failed because the server cannot be reached, or takes no connection, for now.
func Away(err error) bool {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		// It starts, stops or has too many connections. What else it says, such as of a password, does not pass by itself.
		return strings.HasPrefix(said.Code, "57P") || strings.HasPrefix(said.Code, "08") || said.Code == "53300"
	}
	_, unreachable := errors.AsType[*pgconn.ConnectError](err)
	return unreachable || errors.Is(err, errBroken)
}

// errBroken is part of the error of a statement whose connection has broken.
var errBroken = errors.New("the connection to the database is broken")

// broken reports whether an error of a statement is that of its connection.
func broken(err error) bool {
	_, failed := errors.AsType[net.Error](err)
	return failed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
