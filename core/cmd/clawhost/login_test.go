package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rsc.io/qr"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// locked is a channel that needs a login. It drops its account when the file "forget" exists next to it.
type locked struct {
	account string // the file with the account's name
	logout  chan struct{}
}

func openLocked(_ context.Context, env sdk.Env, _ struct{}) (*locked, error) {
	return &locked{filepath.Join(env.StateDir, "account"), make(chan struct{}, 1)}, nil
}

// Run waits for an account. One that is called "gone" has logged out.
func (l *locked) Run(ctx context.Context, in sdk.Inbox) error {
	for {
		name, err := os.ReadFile(l.account)
		switch {
		case err != nil:
			in.Report(chat.Connecting, "not logged in")
		case string(name) == "gone":
			return errors.Join(fmt.Errorf("%w: the account is gone", sdk.ErrLoggedOut), os.Remove(l.account))
		default:
			in.Report(chat.Connected, "as "+string(name))
		}
		select {
		case <-l.logout:
		case <-ctx.Done():
			return nil
		}
	}
}

// Send sends nothing.
func (*locked) Send(context.Context, chat.Outgoing) (chat.Receipt, error) {
	return chat.Receipt{}, &chat.Failure{Reason: chat.NotConnected}
}

// Login asks for a name.
func (l *locked) Login(_ context.Context, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	name := answers["name"]
	switch name {
	case "":
		show(chat.LoginStep{ID: "name", Instructions: "Say who\x1b[31m you are.", Input: "Name"})
		return "", nil
	case "nobody":
		return "", &chat.Failure{Reason: chat.Forbidden, Err: errors.New("nobody is not let in")}
	}
	show(chat.LoginStep{ID: "qr", Instructions: "Scan this.", QR: "https://example.test/#" + name})
	show(chat.LoginStep{ID: "code", Instructions: "Or type this.", Code: "ABCD-EFGH"})
	if err := os.WriteFile(l.account, []byte(name), 0o600); err != nil {
		return "", err
	}
	l.logout <- struct{}{}
	return chat.UserID(name), nil
}

// TestDrawsQRCodes as their encoder meant them, with a margin.
func TestDrawsQRCodes(t *testing.T) {
	t.Parallel()
	const content = "https://wa.me/settings/linked_devices#2@abcdefghijklmnopqrstuvwxyz,ABCDEFG=,HIJKLMN=,OPQRST=,1"
	want, err := qr.Encode(content, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []bool{true, false} {
		drawn, err := drawQR(content, terminal)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
		for i, line := range lines {
			line, coloured := strings.CutPrefix(line, "\x1b[30;107m")
			line, ended := strings.CutSuffix(line, "\x1b[0m")
			if coloured != terminal || ended != terminal {
				t.Fatalf("line %d begins or ends wrongly", i)
			}
			cells := []rune(line)
			if len(cells) != want.Size+2*quiet {
				t.Fatalf("line %d has %d cells", i, len(cells))
			}
			for x, cell := range cells {
				upper, lower := cell == '█' || cell == '▀', cell == '█' || cell == '▄'
				for row, ink := range []bool{upper, lower} {
					if y := 2*i + row - quiet; (ink == terminal) != want.Black(x-quiet, y) {
						t.Fatalf("the module at %d, %d is wrong", x-quiet, y)
					}
				}
			}
		}
		if rows := 2 * len(lines); rows < want.Size+2*quiet {
			t.Errorf("%d rows are drawn", rows)
		}
	}
	if _, err := drawQR(strings.Repeat("x", 3000), true); err == nil {
		t.Error("what is too long is drawn")
	}
}
