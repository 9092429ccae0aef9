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

// maxWords bounds one request or answer on a line, in bytes.
const maxWords = 4 << 10

// Line is the socket that a plugin has as its standard input. Its end tells the plugin that the host is gone. Over it the
// plugin asks for what no gRPC call can carry: sockets. A request is a line of JSON, and so is its answer, which may bring a
// descriptor.
type Line struct {
	conn   *net.UnixConn
	turn   chan struct{}  // has a value from a request to its answer
	asking sync.WaitGroup // for answers
}

// NewLine takes one end of a line; the file may be closed then. It is an error if the file is no socket, as under a host
// that knows no lines.
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

// Close closes this end. Who waits for an answer gets an error.
func (l *Line) Close() error {
	err := l.conn.Close()
	l.asking.Wait()
	return err
}

// Sockets is what a host does for the plugin at the other end of a line.
type Sockets interface {
	// Listen returns the descriptor of a socket that listens at a TCP address. It stays the host's, which returns the same one
	// for the same address as long as it lives.
	Listen(network, address string) (fd int, err error)
	// Admit returns an error if the agent, or what it has started, may be at the remote end of a connection on this machine.
	Admit(local, remote netip.AddrPort) error
}

// request asks for one of the two.
type request struct {
	Listen *struct{ Network, Address string } `json:",omitempty"`
	Admit  *struct{ Local, Remote netip.AddrPort }
}

// answer says yes, or why not.
type answer struct {
	Error string        `json:",omitempty"`
	Errno syscall.Errno `json:",omitempty"` // what the system said, if it did
}

// Serve answers what the plugin asks until the line ends.
func (l *Line) Serve(sockets Sockets) error {
	for {
		var asked request
		if _, err := l.receive(&asked, false); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET) {
				return nil
			}
			return fmt.Errorf("read what the plugin asks: %w", err)
		}
		fd, err := -1, errors.New("this host does not know what is asked")
		switch {
		case asked.Listen != nil:
			fd, err = sockets.Listen(asked.Listen.Network, asked.Listen.Address)
		case asked.Admit != nil:
			err = sockets.Admit(asked.Admit.Local, asked.Admit.Remote)
		}
		var said answer
		if err != nil {
			fd, said.Error = -1, err.Error()
			errors.As(err, &said.Errno)
		}
		if err := l.send(said, fd); err != nil {
			return fmt.Errorf("answer the plugin: %w", err)
		}
	}
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

// Admit asks the host whether a connection may be taken; an error says why not.
func (l *Line) Admit(ctx context.Context, local, remote netip.AddrPort) error {
	_, err := l.ask(ctx, request{Admit: &struct{ Local, Remote netip.AddrPort }{local, remote}}, false)
	return err
}

// ask makes one request. If ctx ends before the answer has come, the line is of use again once it has: until then whatever is
// asked waits as long as its own ctx lets it.
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
				_ = f.Close() // nobody waits for it
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

// exchange sends a request and reads its answer. A line that failed is closed.
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

// Refusal is the host's no. Errors that are none mean that the line is of no use any more.
type Refusal struct {
	Text  string
	Errno syscall.Errno // what the host's system said; zero if it said nothing
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap returns what the system said.
func (r *Refusal) Unwrap() error {
	if r.Errno == 0 {
		return nil
	}
	return r.Errno
}

// receive reads one line.
func (l *Line) receive(into any, wantsFile bool) (f *os.File, err error) {
	words, buffer := make([]byte, 0, maxWords), make([]byte, maxWords)
	for {
		n, came, err := l.read(buffer[:cap(words)-len(words)], wantsFile)
		if came != nil {
			f = came
		}
		words = append(words, buffer[:max(n, 0)]...) // of a read that failed the count is -1
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err == nil && words[len(words)-1] != '\n' && len(words) < maxWords {
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
	if len(words) >= maxWords {
		return errors.New("this is too long for the line")
	}
	_, _, err = l.conn.WriteMsgUnix(append(words, '\n'), rights(fd), nil)
	return err
}
