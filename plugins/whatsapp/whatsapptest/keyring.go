package whatsapptest

import (
	"context"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/util/keys"
)

// keyring is what a person's phone remembers of its sessions, as far as phones here need it: in memory, and guarded by the
// server's lock.
type keyring struct {
	store.IdentityStore
	store.SessionStore
	store.PreKeyStore

	sessions map[string][]byte
	senders  map[string][]byte // sender keys, by group and user
	oneTime  map[uint32]*keys.PreKey
	last     uint32 // the id of the newest one-time key
}

// newKeys makes a phone's keys, to an identity.
func newKeys(identity *keys.KeyPair) *store.Device {
	ring := &keyring{sessions: map[string][]byte{}, senders: map[string][]byte{}, oneTime: map[uint32]*keys.PreKey{}}
	return &store.Device{
		IdentityKey: identity, SignedPreKey: identity.CreateSignedPreKey(1), RegistrationID: 1,
		Identities: ring, Sessions: ring, PreKeys: ring, SenderKeys: ring,
		Account: &waAdv.ADVSignedDeviceIdentity{
			Details: []byte{1}, AccountSignature: make([]byte, 64), AccountSignatureKey: make([]byte, 32),
			DeviceSignature: make([]byte, 64),
		},
	}
}

// PutIdentity implements store.IdentityStore. A phone trusts whoever comes.
func (*keyring) PutIdentity(context.Context, string, [32]byte) error { return nil }

// IsTrustedIdentity implements store.IdentityStore.
func (*keyring) IsTrustedIdentity(context.Context, string, [32]byte) (bool, error) { return true, nil }

// GetSession implements store.SessionStore.
func (k *keyring) GetSession(_ context.Context, address string) ([]byte, error) {
	return k.sessions[address], nil
}

// HasSession implements store.SessionStore.
func (k *keyring) HasSession(_ context.Context, address string) (bool, error) {
	_, begun := k.sessions[address]
	return begun, nil
}

// PutSession implements store.SessionStore.
func (k *keyring) PutSession(_ context.Context, address string, session []byte) error {
	k.sessions[address] = session
	return nil
}

// GenOnePreKey implements store.PreKeyStore.
func (k *keyring) GenOnePreKey(context.Context) (*keys.PreKey, error) {
	k.last++
	k.oneTime[k.last] = keys.NewPreKey(k.last)
	return k.oneTime[k.last], nil
}

// GetPreKey implements store.PreKeyStore.
func (k *keyring) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) {
	return k.oneTime[id], nil
}

// RemovePreKey implements store.PreKeyStore.
func (k *keyring) RemovePreKey(_ context.Context, id uint32) error {
	delete(k.oneTime, id)
	return nil
}

// PutSenderKey implements store.SenderKeyStore.
func (k *keyring) PutSenderKey(_ context.Context, group, user string, key []byte) error {
	k.senders[group+" "+user] = key
	return nil
}

// GetSenderKey implements store.SenderKeyStore.
func (k *keyring) GetSenderKey(_ context.Context, group, user string) ([]byte, error) {
	return k.senders[group+" "+user], nil
}
