package postgres

import (
	"testing"
	"time"
)

// What goes to another machine says how it is protected.
func TestAnotherMachineNeedsAnSSLMode(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for dsn, ok := range map[string]bool{
		"postgres://me@db.example/claw":                     false,
		"host=10.0.0.7 dbname=claw":                         false,
		"postgres://me@db.example/claw?sslmode=verify-full": true,
		"host=10.0.0.7 dbname=claw sslmode=disable":         true,
		"postgres://me@localhost,db.example/claw":           false,
		"postgres://me@127.0.0.1/claw":                      true,
		"postgres://me@localhost/claw":                      true,
		"host=::1 dbname=claw":                              true,
		"host=/run/postgresql dbname=claw":                  true,
	} {
		if _, err := parse(dsn, time.Second); (err == nil) != ok {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}
