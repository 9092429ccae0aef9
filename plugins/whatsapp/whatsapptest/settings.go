package whatsapptest

import (
	"context"

	"go.mau.fi/whatsmeow/appstate"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/store"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"
)

// settingsKey is what the account's settings are encrypted by.
var settingsKey = []byte("the key of the account's settings")

// ShareName has the account's phone share the settings, which tell the account's name: as it does some time after it has
// linked a device. It must be called once at most.
func (s *Server) ShareName(ctx context.Context, name string) error {
	id := []byte{0, 1}
	known := &settings{}
	raw, err := appstate.NewProcessor(&store.Device{AppStateKeys: known, AppState: known}, waLog.Noop).
		EncodePatch(ctx, id, appstate.HashState{}, appstate.BuildSettingPushName(name))
	if err != nil {
		return err
	}
	// The server numbers the patches that phones send it.
	var patch waServerSync.SyncdPatch
	if err := proto.Unmarshal(raw, &patch); err != nil {
		return err
	}
	patch.Version = &waServerSync.SyncdVersion{Version: proto.Uint64(1)}
	if raw, err = proto.Marshal(&patch); err != nil {
		return err
	}
	s.mu.Lock()
	s.settings = raw
	s.mu.Unlock()
	s.Owner().SayTo(s.Owner(), &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_SHARE.Enum(),
		AppStateSyncKeyShare: &waE2E.AppStateSyncKeyShare{Keys: []*waE2E.AppStateSyncKey{{
			KeyID: &waE2E.AppStateSyncKeyId{KeyID: id},
			KeyData: &waE2E.AppStateSyncKeyData{
				KeyData:     settingsKey,
				Fingerprint: &waE2E.AppStateSyncKeyFingerprint{RawID: proto.Uint32(1)},
			},
		}}},
	}})
	return nil
}

// collection answers a question for a part of the account's settings. It is called with the lock held.
func (s *Server) collection(query []waBinary.Node) []waBinary.Node {
	name := ""
	if len(query) > 0 {
		asked, _ := query[0].GetOptionalChildByTag("collection")
		attrs := asked.AttrGetter()
		name = attrs.OptionalString("name")
	}
	collection := waBinary.Node{Tag: "collection", Attrs: waBinary.Attrs{"name": name, "type": "result"}}
	if name == string(appstate.WAPatchCriticalBlock) && s.settings != nil {
		collection.Content = []waBinary.Node{{Tag: "patches", Content: []waBinary.Node{{Tag: "patch", Content: s.settings}}}}
	}
	return []waBinary.Node{{Tag: "sync", Content: []waBinary.Node{collection}}}
}

// settings are what a phone knows of them that has changed none.
type settings struct {
	store.AppStateStore
	store.AppStateSyncKeyStore
}

// GetAppStateSyncKey implements store.AppStateSyncKeyStore.
func (*settings) GetAppStateSyncKey(context.Context, []byte) (*store.AppStateSyncKey, error) {
	return &store.AppStateSyncKey{Data: settingsKey}, nil
}

// GetAppStateMutationMAC implements store.AppStateStore.
func (*settings) GetAppStateMutationMAC(context.Context, string, []byte) ([]byte, error) {
	return nil, nil
}
