package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// unpaired is a running channel that has no account yet.
func unpaired(t *testing.T, more ...map[string]any) (*sdktest.Harness, *sdktest.Run, *whatsapptest.Server) {
	t.Helper()
	s := whatsapptest.New(t)
	folder := t.TempDir() // It goes when the harness has ended.
	h := sdktest.New(t, component())
	h.StateDir = folder
	config := settings(s)
	for _, m := range more {
		maps.Copy(config, m)
	}
	h.Configure(config)
	run := h.Run()
	for state := run.NextState(); !strings.Contains(state.Detail, "clawhost plugin login test"); state = run.NextState() {
		if state.URL != "" {
			t.Errorf("the state has the address %q", state.URL)
		}
	}
	if h.Health() == nil {
		t.Error("a channel that is not paired is well")
	}
	return h, run, s
}

// works shows that a channel that was paired takes messages.
func works(t *testing.T, h *sdktest.Harness, run *sdktest.Run, s *whatsapptest.Server) {
	t.Helper()
	run.WaitFor(chat.Connected)
	s.Person(1).Say("hello")
	if m, ok := h.NextEvent().Body.(chat.Message); !ok || m.Text != "hello" {
		t.Errorf("came %+v", m)
	}
}

// Behaviour: whatsapp-login.
func TestPairsByScanning(t *testing.T) {
	t.Parallel()
	h, run, s := unpaired(t)
	account, err := h.Login(t.Context(), nil, func(step chat.LoginStep) {
		if step.QR == "" || step.Instructions == "" {
			t.Errorf("the step is %+v", step)
		}
		if err := s.Scan(t.Context(), step.QR); err != nil {
			t.Error(err)
		}
	})
	if err != nil || account != "+15550000001" {
		t.Fatalf("logged in as %q, %v", account, err)
	}
	works(t, h, run, s)
	files, err := filepath.Glob(filepath.Join(h.StateDir, "device.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", filepath.Base(file), info.Mode(), err)
		}
	}
	_, err = h.Login(t.Context(), nil, func(chat.LoginStep) {})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Invalid || !strings.Contains(err.Error(), "+15550000001 is paired already") {
		t.Errorf("a second login gives %v", err)
	}
}

// Behaviour: whatsapp-login.
func TestPairsByCode(t *testing.T) {
	t.Parallel()
	h, run, s := unpaired(t)
	var steps int
	account, err := h.Login(t.Context(), map[string]string{"phone": "+1 (555) 000-0001"}, func(step chat.LoginStep) {
		steps++
		if len(step.Code) != 9 || step.QR != "" || s.LinkingPhone() != "15550000001" {
			t.Errorf("the step is %+v, for the phone %q", step, s.LinkingPhone())
		}
		if err := s.Type(t.Context(), step.Code); err != nil {
			t.Error(err)
		}
	})
	if err != nil || account != "+15550000001" || steps != 1 {
		t.Fatalf("logged in as %q, %v, after %d steps", account, err, steps)
	}
	works(t, h, run, s)
}

// TestPairsIfTheLastMessageIsLost drops WhatsApp's last message of a pairing, as it happens: the channel reconnects by
// itself and is paired.
func TestPairsIfTheLastMessageIsLost(t *testing.T) {
	t.Parallel()
	h, run, s := unpaired(t)
	s.MutePairing()
	_, err := h.Login(t.Context(), nil, func(step chat.LoginStep) {
		if err := s.Scan(t.Context(), step.QR); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	works(t, h, run, s)
}

// TestLoginsThatFail leave the channel as it was.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	h, run, s := unpaired(t)
	_, err := h.Login(t.Context(), map[string]string{"phone": "0123"}, func(chat.LoginStep) {})
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Invalid {
		t.Errorf("a number that is none gives %v", err)
	}
	leaving, leave := context.WithCancel(t.Context())
	if _, err := h.Login(leaving, nil, func(chat.LoginStep) { leave() }); err == nil {
		t.Error("who left is logged in")
	}
	account, err := h.Login(t.Context(), nil, func(step chat.LoginStep) {
		if err := s.Scan(t.Context(), step.QR); err != nil {
			t.Error(err)
		}
	})
	if err != nil || account == "" {
		t.Fatal(account, err)
	}
	works(t, h, run, s)
}

// TestOnlineOnceTheNameIsKnown: a device says by name that it is online, and one that was just paired does not know its name.
// Behaviour: whatsapp-online.
func TestOnlineOnceTheNameIsKnown(t *testing.T) {
	t.Parallel()
	h, run, s := unpaired(t, map[string]any{"show_online": true})
	_, err := h.Login(t.Context(), nil, func(step chat.LoginStep) {
		if err := s.Scan(t.Context(), step.QR); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	run.WaitFor(chat.Connected)
	if got := s.Presence(); got != "" {
		t.Errorf("without a name the account is %s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := errors.Join(s.ShareName(ctx, "Claw"), s.AwaitPresence(ctx, "available")); err != nil {
		t.Error(err)
	}
}
