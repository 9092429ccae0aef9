package web

import (
	"io"
	"net/netip"
	"time"
)

// Limits.
const (
	MaxHTML    = maxHTML
	PageCPU    = pageCPU
	PageMemory = pageMemory
)

// ReadPageWithin reads a page as [ReadPage] does, within other limits.
func ReadPageWithin(in io.Reader, out io.Writer, cpu time.Duration, memory int64) error {
	return readPage(in, out, cpu, memory)
}

// Plain reads a page that is not HTML, and decodes all of it.
func Plain(content []byte, claim string) error {
	_, err := io.Copy(io.Discard, decoded(content, claim))
	return err
}

// Public reports whether an address is on the public internet.
func Public(a netip.Addr) bool { return public(a) }
