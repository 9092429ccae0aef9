package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// pluginLogin shows a channel's login steps, and asks for required input.
func (a *app) pluginLogin(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage("plugin login takes a name")
	}
	answers := map[string]string{}
	for _, arg := range args[1:] {
		step, answer, ok := strings.Cut(arg, "=")
		if !ok || step == "" || answer == "" {
			return usage("%q is not an answer to a step; one looks like phone=+15551234567", arg)
		}
		answers[step] = answer
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	screen := &screen{out: a.out, terminal: isTerminal(a.out)}
	input := bufio.NewReader(a.in)
	for {
		var asked admin.LoginStep
		account, err := client.Login(ctx, args[0], answers, func(step admin.LoginStep) {
			asked = step
			if a.json {
				_ = a.encoder().Encode(admin.LoginEvent{Step: &step})
				return
			}
			screen.show(step)
		})
		switch {
		case err != nil:
			return err
		case account != "" && a.json:
			return a.encoder().Encode(admin.LoginEvent{Account: account})
		case account != "":
			_, err := fmt.Fprintf(a.out, "%s is logged in as %s. `clawhost plugin list` shows its state.\n", args[0], printable(account))
			return err
		}
		if answers[asked.ID], err = answerTo(input); err != nil {
			return fmt.Errorf("%s needs an answer; add %s=…", args[0], printable(asked.ID))
		}
	}
}

// answerTo reads one line that is not empty.
func answerTo(input *bufio.Reader) (string, error) {
	line, err := input.ReadString('\n')
	line = strings.TrimSpace(line)
	if line != "" {
		return line, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return "", err
}

// isTerminal reports whether the output is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// screen shows a login's steps. On a terminal a QR code replaces the previous one.
type screen struct {
	out      io.Writer
	terminal bool

	instructions string // shown last
	drawn        int    // lines of the QR code shown last; zero: none
}

func (s *screen) show(step admin.LoginStep) {
	instructions := printable(step.Instructions)
	if step.QR != "" && s.drawn > 0 && s.terminal && instructions == s.instructions {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn) // move to its start and clear
	} else {
		fmt.Fprintf(s.out, "\n%s\n\n", instructions)
	}
	s.instructions, s.drawn = instructions, 0
	switch {
	case step.QR != "":
		code, err := drawQR(step.QR, s.terminal)
		if err != nil {
			fmt.Fprintf(s.out, "%v; it says: %s\n", err, printable(step.QR))
			return
		}
		s.drawn = strings.Count(code, "\n")
		_, _ = io.WriteString(s.out, code)
	case step.Code != "":
		fmt.Fprintf(s.out, "    %s\n\n", printable(step.Code))
	case step.Input != "":
		fmt.Fprintf(s.out, "%s: ", printable(step.Input))
	}
}
