package whatsapptest

import (
	"context"
	"encoding/binary"

	"go.mau.fi/libsignal/ecc"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// request has a person's phone ask the device for a message that it could not decrypt, with keys for a new session. It is
// called with the lock held, and again at each login until the message has come.
func (s *Server) request(c *conn, p *Person, id types.MessageID) error {
	registration, keys, err := p.publish(s.life)
	if err != nil {
		return err
	}
	return s.put(c, waBinary.Node{
		Tag:   "receipt",
		Attrs: waBinary.Attrs{"id": id, "from": p.LID, "type": "retry", "t": "1"},
		Content: []waBinary.Node{
			{Tag: "retry", Attrs: waBinary.Attrs{"count": "2", "id": id, "t": "1", "v": "1"}},
			registration,
			{Tag: "keys", Content: keys},
		},
	})
}

// publish makes keys for a new session with the person.
func (p *Person) publish(ctx context.Context) (registration waBinary.Node, keys []waBinary.Node, err error) {
	key, err := p.keys.PreKeys.GenOnePreKey(ctx)
	if err != nil {
		return waBinary.Node{}, nil, err
	}
	return waBinary.Node{Tag: "registration", Content: binary.BigEndian.AppendUint32(nil, p.keys.RegistrationID)}, []waBinary.Node{
		{Tag: "type", Content: []byte{ecc.DjbType}},
		{Tag: "identity", Content: p.keys.IdentityKey.Pub[:]},
		keyNode("key", key),
		keyNode("skey", p.keys.SignedPreKey),
	}, nil
}

// bundles answers a question for the keys of people, to begin sessions with them.
func (s *Server) bundles(query []waBinary.Node) ([]waBinary.Node, error) {
	var users []waBinary.Node
	for _, asked := range query {
		attrs := asked.AttrGetter()
		user := waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": attrs.JID("jid")}}
		p := s.personOf(attrs.JID("jid"))
		if p == nil || p.hidden {
			user.Content = []waBinary.Node{{Tag: "error", Attrs: waBinary.Attrs{"code": 404, "text": "item-not-found"}}}
		} else {
			registration, keys, err := p.publish(s.life)
			if err != nil {
				return nil, err
			}
			user.Content = append(keys, registration)
		}
		users = append(users, user)
	}
	return []waBinary.Node{{Tag: "list", Content: users}}, nil
}

func keyNode(tag string, key *keys.PreKey) waBinary.Node {
	node := waBinary.Node{Tag: tag}
	parts := []waBinary.Node{
		{Tag: "id", Content: binary.BigEndian.AppendUint32(nil, key.KeyID)[1:]},
		{Tag: "value", Content: key.Pub[:]},
	}
	if key.Signature != nil {
		parts = append(parts, waBinary.Node{Tag: "signature", Content: key.Signature[:]})
	}
	node.Content = parts
	return node
}
