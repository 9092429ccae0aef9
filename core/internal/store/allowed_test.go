package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestAllowedUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.request("telegram", "bob", "CODE"); err != nil {
		t.Fatal(err)
	}
	for _, user := range []chat.UserID{"bob", "anna", "bob"} {
		if err := b.Allow(b.ctx, "telegram", user); err != nil {
			t.Fatal(err)
		}
	}
	if requests, err := b.Pairings(b.ctx); err != nil || len(requests) != 0 {
		t.Errorf("requests %+v, %v", requests, err)
	}
	if let, err := b.Allowed(b.ctx, "telegram", "bob"); err != nil || !let {
		t.Errorf("bob is let in: %v, %v", let, err)
	}
	for _, want := range []bool{true, false} {
		if was, err := b.Disallow(b.ctx, "telegram", "bob"); err != nil || was != want {
			t.Errorf("bob was let in: %v, %v", was, err)
		}
	}
	list, err := b.AllowedUsers(b.ctx)
	if diff := cmp.Diff([]domain.AllowedUser{{Channel: "telegram", User: "anna", At: start}}, list); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
