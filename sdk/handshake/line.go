package handshake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
)

// maxLine limits one request or response on a line, in bytes.
const maxLine = 4 << 10

// Line is the socket that a plugin has as its standard input. When it is closed, the plugin knows that the host is gone.
// The plugin uses it to request what gRPC cannot transfer, such as sockets. A request is a line of JSON, and so is its response,
// which may carry a file descriptor.
type Line struct {
	conn   *net.UnixConn
	turn   chan struct{}  // has a value between a request and its response
	asking sync.WaitGroup // for responses
}

// NewLine returns a line on one end of a socket pair; the caller may close the file afterwards. It returns an error if the
// file is not a socket, as under a host that does not support lines.
func NewLine(f *os.File) (*Line, error) {
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open the line to the host: %w", err)
	}
	line, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("open the line to the host: another kind of socket"), conn.Close())
	}
	return &Line{conn: line, turn: make(chan struct{}, 1)}, nil
}

// Close closes this end. Calls in progress return an error.
func (l *Line) Close() error {
	err := l.conn.Close()
	l.asking.Wait()
	return err
}

// Services is the host's side of a line: what it does for the plugin.
type Services interface {
	// Listen returns the descriptor of a socket that listens on a TCP address. The host owns it and returns the same one
	// for the same address until the host ends.
	Listen(network, address string) (fd int, err error)
	// Admit returns an error if the agent, or what it has started, may be at the remote end of a connection on this machine.
	Admit(local, remote netip.AddrPort) error
	// Identify makes a certificate, in DER, the only one that the host accepts from the plugin. The plugin calls it once, before
	// it serves.
	Identify(certificate []byte) error
}

// request is one request; one of the fields is set.
type request struct {
	Listen   *struct{ Network, Address string }      `json:",omitempty"`
	Admit    *struct{ Local, Remote netip.AddrPort } `json:",omitempty"`
	Identify []byte                                  `json:",omitempty"`
}

// answer is the response to a request.
type answer struct {
	Error string        `json:",omitempty"`
	Errno syscall.Errno `json:",omitempty"` // the system's error, if any
}

// Serve answers the plugin's requests until the line is closed.
func (l *Line) Serve(host Services) error {
	for {
		var asked request
		if _, err := l.receive(&asked, false); over(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the plugin's request: %w", err)
		}
		fd, err := -1, errors.New("this host does not support the request")
		switch {
		case asked.Listen != nil:
			fd, err = host.Listen(asked.Listen.Network, asked.Listen.Address)
		case asked.Admit != nil:
			err = host.Admit(asked.Admit.Local, asked.Admit.Remote)
		case asked.Identify != nil:
			err = host.Identify(asked.Identify)
		}
		var said answer
		if err != nil {
			fd, said.Error = -1, err.Error()
			errors.As(err, &said.Errno)
		}
		if err := l.send(said, fd); over(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("answer the plugin: %w", err)
		}
	}
}

// over reports whether an error only means that one end has closed the line.
func over(err error) bool {
	for _, end := range []error{io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// Listen asks the host for a socket that listens at a TCP address.
func (l *Line) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	f, err := l.ask(ctx, request{Listen: &struct{ Network, Address string }{network, address}}, true)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	defer f.Close()
	return net.FileListener(f)
}

// Admit asks the host whether a connection may be accepted; an error says why not.
func (l *Line) Admit(ctx context.Context, local, remote netip.AddrPort) error {
	_, err := l.ask(ctx, request{Admit: &struct{ Local, Remote netip.AddrPort }{local, remote}}, false)
	return err
}

// ask makes one request. If ctx ends before the response has arrived, the line cannot be used until it has; meanwhile other
// calls wait, limited by their own contexts.
func (l *Line) ask(ctx context.Context, r request, wantsFile bool) (*os.File, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type answered struct {
		file *os.File
		err  error
	}
	answer := make(chan answered)
	l.asking.Go(func() {
		f, err := l.exchange(r, wantsFile)
		<-l.turn
		select {
		case answer <- answered{f, err}:
		case <-ctx.Done():
			if f != nil {
				_ = f.Close() // no one waits for it
			}
		}
	})
	select {
	case a := <-answer:
		return a.file, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// exchange sends a request and reads its response. It closes the line after an error.
func (l *Line) exchange(r request, wantsFile bool) (*os.File, error) {
	if err := l.send(r, -1); err != nil {
		return nil, errors.Join(err, l.conn.Close())
	}
	var said answer
	f, err := l.receive(&said, wantsFile)
	switch {
	case err != nil:
		return nil, errors.Join(err, l.conn.Close())
	case said.Error != "":
		return nil, &Refusal{said.Error, said.Errno}
	case wantsFile && f == nil:
		return nil, errors.New("the host sent no socket")
	}
	return f, nil
}

// Refusal is the error of a request that the host refused. After any other error the line can no longer be used.
type Refusal struct {
	Text  string
	Errno syscall.Errno // the error of the host's system, if any
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap returns the system's error, if any.
func (r *Refusal) Unwrap() error {
	if r.Errno == 0 {
		return nil
	}
	return r.Errno
}

// receive reads one line.
func (l *Line) receive(into any, wantsFile bool) (f *os.File, err error) {
	words, buffer := make([]byte, 0, maxLine), make([]byte, maxLine)
	for {
		n, came, err := l.read(buffer[:cap(words)-len(words)], wantsFile)
		if came != nil {
			f = came
		}
		words = append(words, buffer[:max(n, 0)]...) // of a read that failed the count is -1
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err == nil && words[len(words)-1] != '\n' && len(words) < maxLine {
			continue
		}
		if err == nil {
			err = json.Unmarshal(words, into)
		}
		if err != nil && f != nil {
			err = errors.Join(err, f.Close())
		}
		return f, err
	}
}

// send writes one line, with a descriptor if it is not negative.
func (l *Line) send(v any, fd int) error {
	words, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(words) >= maxLine {
		return errors.New("the message is too long for the line")
	}
	_, _, err = l.conn.WriteMsgUnix(append(words, '\n'), rights(fd), nil)
	return err
}
