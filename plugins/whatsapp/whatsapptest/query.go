package whatsapptest

import (
	"encoding/binary"
	"errors"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// bundle is what the device has uploaded for others to begin sessions with it.
type bundle struct {
	registration uint32
	identity     [32]byte
	signedID     uint32
	signed       [32]byte
	signature    [64]byte
	oneTime      []oneTimeKey
}

type oneTimeKey struct {
	id  uint32
	key [32]byte
}

// answer answers a query. It is called with the lock held.
func (s *Server) answer(c *conn, node *waBinary.Node) error {
	attrs := node.AttrGetter()
	children := node.GetChildren()
	if attrs.OptionalString("type") == "result" {
		if _, signed := node.GetOptionalChildByTag("pair-device-sign"); signed {
			select {
			case s.paired <- struct{}{}:
			default:
			}
		}
		return nil
	}
	result := waBinary.Node{Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "result", "id": attrs.OptionalString("id")}}
	first := ""
	if len(children) > 0 {
		first = children[0].Tag
	}
	uploaded := false
	switch attrs.OptionalString("xmlns") {
	case "encrypt":
		switch first {
		case "count":
			n := 0
			if s.bundle != nil {
				n = len(s.bundle.oneTime)
			}
			result.Content = []waBinary.Node{{Tag: "count", Attrs: waBinary.Attrs{"value": n}}}
		case "key":
			list, err := s.bundles(children[0].GetChildren())
			if err != nil {
				return err
			}
			result.Content = list
		case "registration":
			b, err := readBundle(node)
			if err != nil {
				return err
			}
			s.bundle, uploaded = b, true
		}
	case "usync":
		result.Content = s.devices(children)
	case "w:g2":
		result.Content = s.groupInfo()
	case "w:sync:app:state":
		result.Content = s.collection(children)
	case "w:m":
		result.Content = mediaServers()
	case "md":
		if first == "link_code_companion_reg" {
			result.Content = s.askCode(children[0])
		}
	case "privacy":
		result.Content = []waBinary.Node{{Tag: "privacy"}}
	}
	if err := s.put(c, result); err != nil {
		return err
	}
	if uploaded {
		return s.flush()
	}
	return nil
}

var errBundle = errors.New("the device uploaded keys of a wrong size")

func readBundle(node *waBinary.Node) (*bundle, error) {
	content := func(parent waBinary.Node, tag string) []byte {
		child, _ := parent.GetOptionalChildByTag(tag)
		raw, _ := child.Content.([]byte)
		return raw
	}
	signed, _ := node.GetOptionalChildByTag("skey")
	registration, identity := content(*node, "registration"), content(*node, "identity")
	signedID, value, signature := content(signed, "id"), content(signed, "value"), content(signed, "signature")
	if len(registration) != 4 || len(identity) != 32 || len(signedID) != 3 || len(value) != 32 || len(signature) != 64 {
		return nil, errBundle
	}
	b := &bundle{
		registration: binary.BigEndian.Uint32(registration),
		identity:     [32]byte(identity),
		signedID:     uint24(signedID),
		signed:       [32]byte(value),
		signature:    [64]byte(signature),
	}
	list, _ := node.GetOptionalChildByTag("list")
	for _, key := range list.GetChildren() {
		id, value := content(key, "id"), content(key, "value")
		if len(id) != 3 || len(value) != 32 {
			return nil, errBundle
		}
		b.oneTime = append(b.oneTime, oneTimeKey{uint24(id), [32]byte(value)})
	}
	return b, nil
}

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// devices tells which devices the users of a query have, and their hidden ids.
func (s *Server) devices(query []waBinary.Node) []waBinary.Node {
	var users []waBinary.Node
	if len(query) > 0 {
		list, _ := query[0].GetOptionalChildByTag("list")
		for _, user := range list.GetChildren() {
			attrs := user.AttrGetter()
			jid := attrs.JID("jid")
			var devices []waBinary.Node
			lid := types.EmptyJID
			if p := s.personOf(jid); p != nil {
				lid = p.LID
				devices = append(devices, waBinary.Node{Tag: "device", Attrs: waBinary.Attrs{"id": 0}})
			}
			if jid.User == device().User || jid.User == deviceLID().User {
				lid = deviceLID().ToNonAD()
				devices = append(devices, waBinary.Node{Tag: "device", Attrs: waBinary.Attrs{"id": int(device().Device)}})
			}
			if lid.IsEmpty() {
				continue
			}
			users = append(users, waBinary.Node{Tag: "user", Attrs: waBinary.Attrs{"jid": jid}, Content: []waBinary.Node{
				{Tag: "devices", Content: []waBinary.Node{{Tag: "device-list", Content: devices}}},
				{Tag: "lid", Attrs: waBinary.Attrs{"val": lid}},
			}})
		}
	}
	return []waBinary.Node{{Tag: "usync", Content: []waBinary.Node{{Tag: "list", Content: users}}}}
}

func (s *Server) groupInfo() []waBinary.Node {
	now := time.Now().Unix()
	members := []waBinary.Node{{
		Tag:   "participant",
		Attrs: waBinary.Attrs{"jid": deviceLID().ToNonAD(), "phone_number": device().ToNonAD()},
	}}
	for _, p := range s.people {
		members = append(members, waBinary.Node{Tag: "participant", Attrs: waBinary.Attrs{"jid": p.LID, "phone_number": p.PN}})
	}
	return []waBinary.Node{{Tag: "group", Attrs: waBinary.Attrs{
		"id": s.group.User, "creator": deviceLID().ToNonAD(), "creation": now, "subject": "Team", "s_t": now,
		"s_o": deviceLID().ToNonAD(), "addressing_mode": "lid", "participant": len(members),
	}, Content: members}}
}
