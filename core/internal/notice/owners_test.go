package notice_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// newOwners returns owners whose plugins are enabled. The last of them runs.
func newOwners(s *store.Store, list []string, enabled ...string) *notice.Owners {
	r := plugintest.Registry(enabled...)
	name := enabled[len(enabled)-1]
	r.Entry(name).Publish(&plugins.Plugin{Name: name})
	return notice.NewOwners(s, conversation.NewResolver(&config.Config{Settings: config.Settings{Access: config.Access{Owners: list}}}, r, s), r, hclog.NewNullLogger())
}

// An owner is notified in the direct chat in which they wrote last, which may have another id than they, and before that by their id.
func TestOwnersAreNotifiedInTheirDirectChats(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.Open(t)
	owners := newOwners(s, []string{"telegram:1", "discord:+7", "irc:9"}, "telegram", "discord")
	for person, running := range map[string]bool{"discord:+7": true, "telegram:1": false, "irc:9": false} {
		channel, id, _ := strings.Cut(person, ":")
		if to, ok := owners.Direct(ctx, person); ok != running || to != (chat.Address{Channel: channel, Chat: chat.ID(id)}) {
			t.Errorf("before %s has written, their chat is %+v, %t", person, to, ok)
		}
	}
	if _, err := s.Accept(ctx, domain.Inbound{EventID: "1", Session: "discord:7", Lane: domain.TurnLane, Message: domain.Message{
		Channel: "discord", Chat: chat.Chat{ID: "dm7", Kind: chat.Direct}, Sender: chat.Sender{ID: "7", Aliases: []chat.UserID{"+7"}},
	}}); err != nil {
		t.Fatal(err)
	}
	if to, ok := owners.Direct(ctx, "discord:+7"); !ok || to != (chat.Address{Channel: "discord", Chat: "dm7"}) {
		t.Errorf("their chat is %+v, %t", to, ok)
	}
	owners.Tell(domain.KeyUsageLimit.Of("key"), "once")
	owners.Tell(domain.KeyUsageLimit.Of("key"), "once")
	var sent []string
	for _, item := range slices.Concat(storetest.Sent(t, s, "telegram"), storetest.Sent(t, s, "discord")) {
		sent = append(sent, string(item.To.Chat)+": "+strings.ReplaceAll(item.Text, "\n", " "))
	}
	want := []string{"1: once", "dm7: once"}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// Owners get a few notices of one kind in an hour, and then one that says that there are more.
// Behaviour: owners-flood.
func TestOwnersAreNotFlooded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t)
		owners := newOwners(s, []string{"a:1"}, "a")
		tell := func(from, n int) []string {
			for i := from; i < from+n; i++ {
				owners.Tell(domain.KeyServerAsks.Of(i), fmt.Sprint(i))
			}
			owners.Tell(domain.KeyUsageLimit.Of(1), "other")
			return storetest.Texts(t, s, "a")
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
		if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", wording.NoticesLeftOut, "other"}, tell(0, 20)); diff != "" {
			t.Errorf("20 at once (-want +got):\n%s", diff)
		}
		if again := tell(0, 20); len(again) > 0 {
			t.Errorf("the same again: %q", again)
		}
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"18", "19", "20"}, tell(18, 3)); diff != "" {
			t.Errorf("an hour later (-want +got):\n%s", diff)
		}
	})
}

// A notice that the store does not take in time is sent when the owners are notified again.
func TestANoticeThatTheStoreDoesNotTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t)
		owners := newOwners(s, []string{"a:1"}, "a")
		storetest.Accept(t, s, domain.Inbound{EventID: "1", Session: "a:1", Lane: domain.TurnLane, Message: domain.Message{
			Channel: "a", Chat: chat.Chat{ID: "1", Kind: chat.Direct},
		}})
		free := make(chan struct{})
		var keeping sync.WaitGroup
		keeping.Go(func() {
			_, _ = s.Configure(t.Context(), "a:1", func(*domain.Overrides) { <-free })
		})
		synctest.Wait()
		owners.Tell(domain.KeyUsageLimit.Of(1), "once")
		close(free)
		keeping.Wait()
		if texts := storetest.Texts(t, s, "a"); len(texts) > 0 {
			t.Fatalf("owners got %q by a store that does not answer", texts)
		}
		owners.Tell(domain.KeyUsageLimit.Of(1), "once")
		if diff := cmp.Diff([]string{"once"}, storetest.Texts(t, s, "a")); diff != "" {
			t.Error(diff)
		}
	})
}
