package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"

	"github.com/clawhost/clawhost/sdk"
)

// writeDown puts something of a person into each table of the device store.
func writeDown(ctx context.Context, device *store.Device, number, lid, word string) error {
	pn, hidden := types.NewJID(number, types.DefaultUserServer), types.NewJID(lid, types.HiddenUserServer)
	group := types.NewJID("120363000000000001", types.GroupServer)
	_, _, pushed := device.Contacts.PutPushName(ctx, hidden, word+"push")
	_, _, business := device.Contacts.PutBusinessName(ctx, hidden, word+"business")
	return errors.Join(
		pushed, business, device.Contacts.PutContactName(ctx, pn, word+"full", word+"first"),
		device.LIDs.PutLIDMapping(ctx, hidden, pn),
		device.Sessions.PutSession(ctx, lid+"_1:7", []byte(word+"session")),
		device.Identities.PutIdentity(ctx, number+":7", [32]byte([]byte((word + strings.Repeat("identity", 4))[:32]))),
		device.SenderKeys.PutSenderKey(ctx, group.String(), lid+"_1:7", []byte(word+"sender")),
		device.MsgSecrets.PutMessageSecret(ctx, group, hidden, word+"ID", []byte(word+"secret")),
		device.PrivacyTokens.PutPrivacyTokens(ctx, store.PrivacyToken{User: hidden, Token: []byte(word + "token"), Timestamp: time.Now()}),
		device.ChatSettings.PutPinned(ctx, hidden, true),
		device.EventBuffer.AddOutgoingEvent(ctx, hidden, word+"SENT", "", []byte(word+"answer")),
		device.EventBuffer.AddOutgoingEvent(ctx, group, word+"GROUP", "", []byte("an answer to "+word+" the Great")),
	)
}

// Behaviour: forget-plugins.
func TestForgetDeletesWhatTheDeviceStoreHas(t *testing.T) {
	t.Parallel()
	ctx, folder := t.Context(), t.TempDir()
	devices, err := openDevices(ctx, folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	device, own := devices.NewDevice(), types.JID{User: "15550000001", Device: 5, Server: types.DefaultUserServer}
	device.ID = &own
	device.Account = &waAdv.ADVSignedDeviceIdentity{
		Details: []byte{1}, AccountSignature: make([]byte, 64), AccountSignatureKey: make([]byte, 32), DeviceSignature: make([]byte, 64),
	}
	if err := device.Save(ctx); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		writeDown(ctx, device, "15550000003", "900000000003", "quince"),
		writeDown(ctx, device, "155500000034", "9000000000034", "medlar"), // whose numbers begin with the other's
		device.EventBuffer.PutBufferedEvent(ctx, [32]byte{1}, []byte("arrived"), time.Now()),
		devices.close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	left, err := config{}.Forget(ctx, sdk.Person{
		Instance: "whatsapp", StateDir: folder, Users: []sdk.User{{Channel: "whatsapp", ID: "+15550000003"}, {Channel: "telegram", ID: "9000000000034"}},
		Names: []string{"quince the Great"},
	})
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0], "Messages that had arrived when the host stopped, perhaps theirs: 1.") {
		t.Errorf("left %q, %v", left, err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	all, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	others := bytes.ReplaceAll(bytes.ReplaceAll(all, []byte("155500000034"), nil), []byte("9000000000034"), nil)
	for _, word := range []string{"quince", "15550000003", "900000000003"} {
		if i := bytes.Index(others, []byte(word)); i >= 0 {
			t.Errorf("the store still has %q", others[max(0, i-40):min(len(others), i+40)])
		}
	}
	for _, word := range []string{"push", "business", "full", "first", "session", "identity", "sender", "ID", "secret", "token", "SENT", "answer", "GROUP", " the Great"} {
		if !bytes.Contains(all, []byte("medlar"+word)) {
			t.Errorf("medlar%s of somebody else is gone", word)
		}
	}
	left, err = config{}.Forget(ctx, sdk.Person{Instance: "whatsapp", StateDir: folder, Users: []sdk.User{{Channel: "whatsapp", ID: "15550000001@s.whatsapp.net"}}})
	if err != nil || len(left) != 2 || !strings.HasPrefix(left[0], "The linked account itself has their number") {
		t.Errorf("of the account's owner: left %q, %v", left, err)
	}
}
