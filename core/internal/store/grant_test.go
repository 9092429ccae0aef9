package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestGrants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	always := domain.Grant{Session: "s", Authority: chat.Owner, Rule: "Bash(ls *)", By: "telegram:1"}
	once := domain.Grant{Session: "s", ClaudeSession: "c1", Authority: chat.Owner, Rule: "Bash(ls *)", By: "telegram:1"}
	other := domain.Grant{Session: "s", Authority: chat.Other, Rule: "Bash(ls *)", By: "telegram:1"}
	held := func(want ...domain.Grant) {
		t.Helper()
		got, err := b.Grants(b.ctx, "s")
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(domain.Grant{}, "At"), cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	for range 2 { // What is there already stays.
		if err := b.Grant(b.ctx, always, once, other); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Grant(b.ctx, domain.Grant{Session: "elsewhere", Authority: chat.Owner, Rule: "Bash"}); err != nil {
		t.Fatal(err)
	}
	held(other, always, once)
	if n, err := b.Revoke(b.ctx, always); n != 1 || err != nil {
		t.Error(n, err)
	}
	held(other, once)
	if n, err := b.Revoke(b.ctx, domain.Grant{Session: "s"}); n != 2 || err != nil {
		t.Error(n, err)
	}
	held()
	if err := b.Grant(b.ctx, domain.Grant{Session: "s", Rule: "Bash"}); err == nil {
		t.Error("a grant of nobody's")
	}
}

// What was allowed in a conversation goes with it; what is allowed always stays.
func TestPurgeOfGrants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	always := domain.Grant{Session: "s", Authority: chat.Owner, Rule: "Bash(ls *)"}
	gone := always
	gone.ClaudeSession = "of long ago"
	if err := b.Grant(b.ctx, always, gone); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(31 * 24 * time.Hour)
	b.purge(t)
	got, err := b.Grants(b.ctx, "s")
	if diff := cmp.Diff([]domain.Grant{always}, got, cmpopts.IgnoreFields(domain.Grant{}, "At")); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
