package whatsapptest

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/groups"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/session"
	"go.mau.fi/libsignal/util/optional"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

var serializer = store.SignalProtobufSerializer

var (
	errNoKeys     = errors.New("the device has no one-time key left")
	errNotForThem = errors.New("the stanza has no message for the person")
)

// cipher is the person's session with the device.
func (p *Person) cipher() (*session.Builder, *session.Cipher) {
	address := deviceLID().SignalAddress()
	builder := session.NewBuilderFromSignal(p.keys, address, serializer)
	return builder, session.NewCipher(builder, address)
}

// encrypt encrypts a message for the device. The first one begins the session with one of the device's one-time keys, and so
// does one that the device could not read; what still comes by the session before is read all the same.
func (p *Person) encrypt(ctx context.Context, m *waE2E.Message) (waBinary.Node, error) {
	builder, cipher := p.cipher()
	begun, err := p.keys.ContainsSession(ctx, deviceLID().SignalAddress())
	if err != nil {
		return waBinary.Node{}, err
	}
	if !begun || p.renew {
		b := p.server.bundle
		if len(b.oneTime) == 0 {
			return waBinary.Node{}, errNoKeys
		}
		key := b.oneTime[0]
		b.oneTime = b.oneTime[1:]
		if err := builder.ProcessBundle(ctx, prekey.NewBundle(b.registration, uint32(device().Device),
			optional.NewOptionalUint32(key.id), b.signedID,
			ecc.NewDjbECPublicKey(key.key), ecc.NewDjbECPublicKey(b.signed), b.signature,
			identity.NewKey(ecc.NewDjbECPublicKey(b.identity)))); err != nil {
			return waBinary.Node{}, err
		}
		p.renew = false
	}
	plain, err := pad(m)
	if err != nil {
		return waBinary.Node{}, err
	}
	sealed, err := cipher.Encrypt(ctx, plain)
	if err != nil {
		return waBinary.Node{}, err
	}
	kind := "msg"
	if sealed.Type() == protocol.PREKEY_TYPE {
		kind = "pkmsg"
	}
	return encrypted(kind, sealed.Serialize()), nil
}

func encrypted(kind string, content []byte) waBinary.Node {
	return waBinary.Node{Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": kind}, Content: content}
}

// encryptGroup encrypts a message by the person's sender key, which goes along.
func (p *Person) encryptGroup(ctx context.Context, group types.JID, m *waE2E.Message) ([]waBinary.Node, error) {
	name := protocol.NewSenderKeyName(group.String(), p.LID.SignalAddress())
	builder := groups.NewGroupSessionBuilder(p.keys, serializer)
	key, err := builder.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	distribution, err := p.encrypt(ctx, &waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{
		GroupID: proto.String(group.String()), AxolotlSenderKeyDistributionMessage: key.Serialize(),
	}})
	if err != nil {
		return nil, err
	}
	plain, err := pad(m)
	if err != nil {
		return nil, err
	}
	sealed, err := groups.NewGroupCipher(builder, name, p.keys).Encrypt(ctx, plain)
	if err != nil {
		return nil, err
	}
	message, ok := sealed.(*protocol.SenderKeyMessage)
	if !ok {
		return nil, fmt.Errorf("a group message of type %T", sealed)
	}
	return []waBinary.Node{distribution, encrypted("skmsg", message.SignedSerialize())}, nil
}

// decrypt reads what of a stanza is for the person: the message, behind the sender key if there is one.
func (p *Person) decrypt(ctx context.Context, node *waBinary.Node, to types.JID) (*waE2E.Message, error) {
	parts := node.GetChildrenByTag("enc")
	if participants, ok := node.GetOptionalChildByTag("participants"); ok {
		for _, recipient := range participants.GetChildren() {
			attrs := recipient.AttrGetter()
			if jid := attrs.JID("jid"); jid.User == p.LID.User || jid.User == p.PN.User {
				parts = append(recipient.GetChildrenByTag("enc"), parts...)
			}
		}
	}
	for _, part := range parts {
		m, err := p.open(ctx, part, to)
		if err != nil {
			return nil, err
		}
		d := m.GetSenderKeyDistributionMessage()
		if d == nil {
			return m, nil
		}
		key, err := protocol.NewSenderKeyDistributionMessageFromBytes(
			d.GetAxolotlSenderKeyDistributionMessage(), serializer.SenderKeyDistributionMessage)
		if err != nil {
			return nil, err
		}
		name := protocol.NewSenderKeyName(d.GetGroupID(), deviceLID().SignalAddress())
		if err := groups.NewGroupSessionBuilder(p.keys, serializer).Process(ctx, name, key); err != nil {
			return nil, err
		}
	}
	return nil, errNotForThem
}

func (p *Person) open(ctx context.Context, part waBinary.Node, to types.JID) (*waE2E.Message, error) {
	raw, _ := part.Content.([]byte)
	_, cipher := p.cipher()
	attrs := part.AttrGetter()
	var plain []byte
	var err error
	switch kind := attrs.String("type"); kind {
	case "pkmsg":
		var m *protocol.PreKeySignalMessage
		if m, err = protocol.NewPreKeySignalMessageFromBytes(raw, serializer.PreKeySignalMessage, serializer.SignalMessage); err == nil {
			plain, err = cipher.DecryptMessage(ctx, m)
		}
	case "msg":
		var m *protocol.SignalMessage
		if m, err = protocol.NewSignalMessageFromBytes(raw, serializer.SignalMessage); err == nil {
			plain, err = cipher.Decrypt(ctx, m)
		}
	case "skmsg":
		var m *protocol.SenderKeyMessage
		if m, err = protocol.NewSenderKeyMessageFromBytes(raw, serializer.SenderKeyMessage); err == nil {
			name := protocol.NewSenderKeyName(to.String(), deviceLID().SignalAddress())
			builder := groups.NewGroupSessionBuilder(p.keys, serializer)
			plain, err = groups.NewGroupCipher(builder, name, p.keys).Decrypt(ctx, m)
		}
	default:
		err = fmt.Errorf("encrypted as %q", kind)
	}
	if err != nil {
		return nil, err
	}
	return unpad(plain)
}

// pad adds one to sixteen bytes, each of them their number.
func pad(m *waE2E.Message) ([]byte, error) {
	raw, err := proto.Marshal(m)
	return append(raw, 3, 3, 3), err
}

func unpad(plain []byte) (*waE2E.Message, error) {
	if len(plain) == 0 || int(plain[len(plain)-1]) > len(plain) {
		return nil, errors.New("a message is padded wrongly")
	}
	m := &waE2E.Message{}
	return m, proto.Unmarshal(plain[:len(plain)-int(plain[len(plain)-1])], m)
}
