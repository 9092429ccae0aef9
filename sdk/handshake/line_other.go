//go:build !unix

package handshake

import "os"

func rights(int) []byte { return nil }

func (l *Line) read(b []byte, _ bool) (int, *os.File, error) {
	n, err := l.conn.Read(b)
	return n, nil, err
}
