package whatsapptest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// linking is a pairing by a code that is typed on the phone.
type linking struct {
	phone     string // the number that the device asked a code for
	ephemeral []byte // the device's key, encrypted by the code
	bundle    []byte // what the device answers to the phone's key; nil: nothing yet
}

// linkRef names the one linking that is under way.
const linkRef = "the-linking"

// wrapRounds is how often the key of a code is hashed.
const wrapRounds = 2 << 16

// askCode answers a device's part of a linking. It is called with the lock held.
func (s *Server) askCode(node waBinary.Node) []waBinary.Node {
	content := func(tag string) []byte {
		child, _ := node.GetOptionalChildByTag(tag)
		raw, _ := child.Content.([]byte)
		return raw
	}
	attrs := node.AttrGetter()
	switch attrs.OptionalString("stage") {
	case "companion_hello":
		s.linking = &linking{phone: attrs.JID("jid").User, ephemeral: content("link_code_pairing_wrapped_companion_ephemeral_pub")}
	case "companion_finish":
		if s.linking != nil {
			s.linking.bundle = content("link_code_pairing_wrapped_key_bundle")
		}
	}
	s.notify()
	return []waBinary.Node{{
		Tag:     "link_code_companion_reg",
		Content: []waBinary.Node{{Tag: "link_code_pairing_ref", Content: []byte(linkRef)}},
	}}
}

// LinkingPhone is the number that the device has asked a code for; empty: none.
func (s *Server) LinkingPhone() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.linking == nil {
		return ""
	}
	return s.linking.phone
}

// Type has the account's owner type a pairing code on the phone: the device is linked, and asked to connect again.
func (s *Server) Type(ctx context.Context, code string) error {
	code = strings.ReplaceAll(code, "-", "")
	s.mu.Lock()
	l, c := s.linking, s.current
	s.mu.Unlock()
	if l == nil || c == nil || len(l.ephemeral) != 80 {
		return errNoDevice
	}
	theirs, err := wrap(code, l.ephemeral[:48], l.ephemeral[48:])
	if err != nil {
		return err
	}
	ephemeral := keys.NewKeyPair()
	head := bytes.Repeat([]byte("salt"), 12) // The salt and the first counter; any will do.
	wrapped, err := wrap(code, head, ephemeral.Pub[:])
	if err != nil {
		return err
	}
	err = s.write(c, waBinary.Node{
		Tag:   "notification",
		Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "link_code_companion_reg", "id": "linking", "t": time.Now().Unix()},
		Content: []waBinary.Node{{Tag: "link_code_companion_reg", Attrs: waBinary.Attrs{"stage": "primary_hello"}, Content: []waBinary.Node{
			{Tag: "link_code_pairing_wrapped_primary_ephemeral_pub", Content: append(head, wrapped...)},
			{Tag: "primary_identity_pub", Content: s.primary.Pub[:]},
			{Tag: "link_code_pairing_ref", Content: []byte(linkRef)},
		}}},
	})
	if err != nil {
		return err
	}
	if err := s.await(ctx, func() bool { return l.bundle != nil }); err != nil {
		return err
	}
	secret, err := shared(ephemeral, theirs)
	if err != nil {
		return err
	}
	identity, advSecret, err := s.unwrap(secret, l.bundle)
	if err != nil {
		return errors.New("the device has another code: " + err.Error())
	}
	return s.link(ctx, identity, advSecret)
}

// wrap encrypts a key by a code, or decrypts it. The head is the salt and the counter.
func wrap(code string, head, key []byte) ([]byte, error) {
	derived, err := pbkdf2.Key(sha256.New, code, head[:32], wrapRounds, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(key))
	cipher.NewCTR(block, head[32:48]).XORKeyStream(out, key)
	return out, nil
}

// unwrap finds the device's identity, and the secret that only it and the phone know.
func (s *Server) unwrap(secret, bundle []byte) (identity, advSecret []byte, err error) {
	const salt, nonce = 32, 12
	if len(bundle) < salt+nonce {
		return nil, nil, errors.New("the bundle is too short")
	}
	key, err := hkdf.Key(sha256.New, secret, bundle[:salt], "link_code_pairing_key_bundle_encryption_key", 32)
	if err != nil {
		return nil, nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, nil, err
	}
	plain, err := aead.Open(nil, bundle[salt:salt+nonce], bundle[salt+nonce:], nil)
	if err != nil || len(plain) != 96 {
		return nil, nil, errors.New("the bundle cannot be opened")
	}
	identities, err := shared(s.primary, plain[:32])
	if err != nil {
		return nil, nil, err
	}
	advSecret, err = hkdf.Key(sha256.New, join(secret, identities, plain[64:]), nil, "adv_secret", 32)
	return plain[:32], advSecret, err
}
