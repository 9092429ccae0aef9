package whatsapptest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// refs is how many QR codes a client is given to show, one after the other.
const refs = 6

func pairing() waBinary.Node {
	var list []waBinary.Node
	for i := range refs {
		list = append(list, waBinary.Node{Tag: "ref", Content: fmt.Appendf(nil, "ref%d", i)})
	}
	return waBinary.Node{
		Tag:     "iq",
		Attrs:   waBinary.Attrs{"from": types.ServerJID, "type": "set", "id": "pair-device", "xmlns": "md"},
		Content: []waBinary.Node{{Tag: "pair-device", Content: list}},
	}
}

// Scan has the account's phone scan a QR code: the device is linked, and asked to connect again.
func (s *Server) Scan(ctx context.Context, code string) error {
	_, fields, _ := strings.Cut(code, "#")
	parts := strings.Split(fields, ",")
	if len(parts) < 4 {
		return errors.New("this is no pairing code")
	}
	identity, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	secret, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return err
	}
	return s.link(ctx, identity, secret)
}

// link has the phone accept a device, which proves by a secret that it is the one that showed the code.
func (s *Server) link(ctx context.Context, identity, secret []byte) error {
	signed, err := s.vouch(identity)
	if err != nil {
		return err
	}
	raw, err := proto.Marshal(signed)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(raw)
	container, err := proto.Marshal(&waAdv.ADVSignedDeviceIdentityHMAC{Details: raw, HMAC: mac.Sum(nil)})
	if err != nil {
		return err
	}
	s.mu.Lock()
	c, mute := s.current, s.mute
	s.mu.Unlock()
	if c == nil {
		return errNoDevice
	}
	err = s.write(c, waBinary.Node{
		Tag:   "iq",
		Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "set", "id": "pair-success", "t": time.Now().Unix()},
		Content: []waBinary.Node{{Tag: "pair-success", Content: []waBinary.Node{
			{Tag: "device-identity", Content: container},
			{Tag: "device", Attrs: waBinary.Attrs{"jid": device(), "lid": deviceLID()}},
			{Tag: "platform", Attrs: waBinary.Attrs{"name": "android"}},
		}}},
	})
	if err != nil {
		return err
	}
	select {
	case <-s.paired:
	case <-ctx.Done():
		return ctx.Err()
	}
	if mute {
		return nil
	}
	return s.write(c, streamError("515", ""))
}

var errNoDevice = errors.New("no device is waiting to be paired")

// MutePairing keeps the word with which the server ends a connection after pairing, as it happens on bad connections.
func (s *Server) MutePairing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = true
}

// adopted is how many one-time keys a device that was not paired here has uploaded.
const adopted = 50

// Adopt makes a device of a store of its own one that is paired and has uploaded its keys, and saves it.
func (s *Server) Adopt(ctx context.Context, d *store.Device) error {
	signed, err := s.vouch(d.IdentityKey.Pub[:])
	if err != nil {
		return err
	}
	signed.DeviceSignature = sign(d.IdentityKey, join([]byte{6, 1}, signed.Details, d.IdentityKey.Pub[:], s.primary.Pub[:]))
	id := device()
	d.ID, d.LID, d.Account, d.PushName = &id, deviceLID(), signed, "Claw"
	if err := d.Save(ctx); err != nil {
		return err
	}
	oneTime, err := d.PreKeys.GetOrGenPreKeys(ctx, adopted)
	if err != nil {
		return err
	}
	if err := d.PreKeys.MarkPreKeysAsUploaded(ctx, oneTime[len(oneTime)-1].KeyID); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundle = &bundle{
		registration: d.RegistrationID, identity: *d.IdentityKey.Pub,
		signedID: d.SignedPreKey.KeyID, signed: *d.SignedPreKey.Pub, signature: *d.SignedPreKey.Signature,
	}
	for _, key := range oneTime {
		s.bundle.oneTime = append(s.bundle.oneTime, oneTimeKey{key.KeyID, *key.Pub})
	}
	return nil
}

// vouch signs the identity key of a device for the account.
func (s *Server) vouch(identity []byte) (*waAdv.ADVSignedDeviceIdentity, error) {
	details, err := proto.Marshal(&waAdv.ADVDeviceIdentity{
		RawID: proto.Uint32(1), Timestamp: proto.Uint64(uint64(time.Now().Unix())), KeyIndex: proto.Uint32(1),
	})
	return &waAdv.ADVSignedDeviceIdentity{
		Details:             details,
		AccountSignatureKey: s.primary.Pub[:],
		AccountSignature:    sign(s.primary, join([]byte{6, 0}, details, identity)),
	}, err
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func streamError(code, conflict string) waBinary.Node {
	node := waBinary.Node{Tag: "stream:error", Attrs: waBinary.Attrs{"code": code}}
	if conflict != "" {
		node.Content = []waBinary.Node{{Tag: "conflict", Attrs: waBinary.Attrs{"type": conflict}}}
	}
	return node
}
