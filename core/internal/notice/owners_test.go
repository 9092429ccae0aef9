package notice_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// whole makes one message of each text.
type whole struct{}

func (whole) Notice(to chat.Address, _ chat.Kind, text string) []domain.OutboxItem {
	return []domain.OutboxItem{{To: to, Text: text}}
}

// running returns a registry in which one of the enabled plugins runs.
func running(enabled []string, name string) *plugins.Registry {
	r := plugintest.Registry(enabled...)
	r.Entry(name).Publish(&plugins.Plugin{Name: name})
	return r
}

// An owner is told in the direct chat in which they wrote last, which may have another id than they, and before that by their id.
func TestOwnersAreToldInTheirDirectChats(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "clawhost.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	owners := notice.NewOwners([]string{"telegram:1", "discord:+7", "irc:9"}, s, whole{}, running([]string{"telegram", "discord"}, "discord"), hclog.NewNullLogger())
	if to, ok := owners.Reachable(ctx); !ok || to != (chat.Address{Channel: "discord", Chat: "+7"}) {
		t.Errorf("nobody has written, and reachable is %+v, %t", to, ok)
	}
	if _, err := s.Accept(ctx, domain.Inbound{EventID: "1", Session: "discord:7", Lane: domain.TurnLane, Message: domain.Message{
		Channel: "discord", Chat: chat.Chat{ID: "dm7", Kind: chat.Direct}, Sender: chat.Sender{ID: "7", Aliases: []chat.UserID{"+7"}},
	}}); err != nil {
		t.Fatal(err)
	}
	if to, ok := owners.Reachable(ctx); !ok || to != (chat.Address{Channel: "discord", Chat: "dm7"}) {
		t.Errorf("reachable is %+v, %t", to, ok)
	}
	owners.Tell(domain.KeyUsageLimit.Of("key"), "once")
	owners.Tell(domain.KeyUsageLimit.Of("key"), "once")
	owners.PluginFails("discord", "it ```broke", "Mend it.")
	var told []string
	for _, channel := range []string{"telegram", "discord"} {
		for range 2 { // a destination has one delivery at a time
			list, err := s.ClaimDeliveries(ctx, channel, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list {
				told = append(told, string(d.Item.To.Chat)+": "+strings.ReplaceAll(d.Item.Text, "\n", " "))
				if err := s.Delivered(ctx, d.ID, nil); err != nil {
					t.Fatal(err)
				}
			}
			if channel == "discord" {
				break
			}
		}
	}
	want := []string{"1: once", "1: The plugin discord does not run:  ``` it '''broke ```  Mend it.", "dm7: once"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// Owners get a few notices of one kind in an hour, and then one that says that there are more.
// Behaviour: owners-flood.
func TestOwnersAreNotFlooded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outbox := &outbox{}
		owners := notice.NewOwners([]string{"a:1"}, outbox, whole{}, running([]string{"a"}, "a"), hclog.NewNullLogger())
		tell := func(n int) (texts []string) {
			outbox.texts = nil
			for i := range n {
				owners.Tell(domain.KeyServerAsks.Of(i), fmt.Sprint(i))
			}
			owners.Tell(domain.KeyUsageLimit.Of(1), "other")
			return outbox.texts
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
		if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", wording.NoticesLeftOut, "other"}, tell(20)); diff != "" {
			t.Errorf("20 at once (-want +got):\n%s", diff)
		}
		if again := tell(20); len(again) > 0 {
			t.Errorf("the same again: %q", again)
		}
		time.Sleep(time.Hour)
		outbox.err = errors.New("the disk is full")
		_ = tell(2)
		outbox.err = nil
		if diff := cmp.Diff([]string{"0", "1", "2", "other"}, tell(3)); diff != "" { // the store keeps those that were told
			t.Errorf("an hour later (-want +got):\n%s", diff)
		}
	})
}

// outbox has the texts that were posted.
type outbox struct {
	texts []string
	err   error // of posting
}

func (o *outbox) DirectChat(context.Context, string, string) (domain.DirectChat, error) {
	return domain.DirectChat{}, domain.ErrNotFound
}

func (o *outbox) Post(_ context.Context, _ domain.Key, items ...domain.OutboxItem) (int64, error) {
	if o.err != nil {
		return 0, o.err
	}
	for _, item := range items {
		o.texts = append(o.texts, item.Text)
	}
	return 1, nil
}
