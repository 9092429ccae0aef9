package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func (b *bundle) request(channel, user, code string) (bool, error) {
	now := b.clock.Now()
	p := domain.Pairing{
		Code: code, Channel: channel, User: chat.UserID(user), Name: user, Chat: chat.ID(user),
		CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	return b.RequestPairing(b.ctx, p, 2, now.Add(-10*time.Minute), domain.OutboxItem{To: chat.Address{Channel: channel, Chat: p.Chat}, Text: "your code: " + code})
}

func notice(p domain.Pairing) domain.OutboxItem {
	return domain.OutboxItem{To: chat.Address{Channel: p.Channel, Chat: p.Chat}, Text: "you are in"}
}

// Behaviour: pairing.
func TestPairingIsRequestedOnceAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, step := range []struct {
		channel, user, code string
		wait                time.Duration
		want                bool
	}{
		{"telegram", "anna", "A", 0, true},
		{"telegram", "anna", "B", 0, false},               // has one
		{"discord", "anna", "A", 0, true},                 // another channel
		{"telegram", "bob", "C", time.Minute, true},       //
		{"telegram", "carl", "D", 0, false},               // two are enough, while they are new
		{"telegram", "carl", "D", 9 * time.Minute, false}, // anna's stands for ten minutes
		{"telegram", "carl", "D", time.Second, true},      // it is removed
		{"telegram", "anna", "A", 0, false},               // bob's stands, too
		{"telegram", "anna", "A", time.Minute, true},      // his request is removed
		{"telegram", "bob", "E", time.Hour, true},         // the others have expired
	} {
		b.clock.Advance(step.wait)
		if got, err := b.request(step.channel, step.user, step.code); got != step.want || err != nil {
			t.Errorf("step %d: %v, %v; want %v", i, got, err, step.want)
		}
	}
	got, err := b.Pairings(b.ctx)
	var users []chat.UserID
	for _, p := range got {
		users = append(users, p.User)
	}
	if diff := cmp.Diff([]chat.UserID{"bob"}, users); err != nil || diff != "" {
		t.Errorf("pending: %v (-want +got):\n%s", err, diff)
	}
	d := b.deliveries(t, "telegram")
	if len(d) != 3 || d[0].Item.Text != "your code: A" {
		t.Errorf("prompts %+v, want one for each request that was made", d)
	}
}

func TestApprovedUserIsAllowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.request("telegram", "anna", "A"); err != nil {
		t.Fatal(err)
	}
	allowed := func(channel string, users ...chat.UserID) bool {
		t.Helper()
		ok, err := b.Allowed(b.ctx, channel, users...)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if allowed("telegram", "anna") {
		t.Error("allowed before the approval")
	}
	p, err := b.ApprovePairing(b.ctx, "", "A", notice)
	if err != nil || p.User != "anna" || p.Channel != "telegram" {
		t.Fatalf("approved %+v, %v", p, err)
	}
	if !allowed("telegram", "lid", "anna") || allowed("discord", "anna") || allowed("telegram", "bob") || allowed("telegram") {
		t.Error("the wrong ones are allowed")
	}
	if err := b.Delivered(b.ctx, b.head(t).ID, nil); err != nil {
		t.Fatal(err)
	}
	if d := b.head(t); d.Item.Text != "you are in" {
		t.Errorf("notice %+v", d.Item)
	}
	if _, err := b.ApprovePairing(b.ctx, "", "A", notice); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("approved twice: %v", err)
	}
}

func TestRejectedUserMayAskAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.request("telegram", "anna", "A"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.RejectPairing(b.ctx, "discord", "A"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another channel: %v", err)
	}
	if _, err := b.RejectPairing(b.ctx, "telegram", "A"); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.Allowed(b.ctx, "telegram", "anna"); ok || err != nil {
		t.Errorf("allowed %v, %v", ok, err)
	}
	if ok, err := b.request("telegram", "anna", "B"); !ok || err != nil {
		t.Errorf("asked again: %v, %v", ok, err)
	}
}

func TestCodeMustNameOneRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, channel := range []string{"telegram", "discord"} {
		if _, err := b.request(channel, "anna", "A"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.ApprovePairing(b.ctx, "", "A", notice); err == nil || errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a code of two channels: %v", err)
	}
	if _, err := b.request("telegram", "bob", "A"); err == nil {
		t.Error("two requests of a channel have one code")
	}
	if p, err := b.ApprovePairing(b.ctx, "discord", "A", notice); err != nil || p.Channel != "discord" {
		t.Errorf("approved %+v, %v", p, err)
	}
	b.clock.Advance(time.Hour)
	if _, err := b.ApprovePairing(b.ctx, "telegram", "A", notice); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an expired code: %v", err)
	}
}
