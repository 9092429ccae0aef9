package whatsapptest

import (
	"fmt"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// Adds notifies the device that the person has added a member to the group. The account itself hears of its own adding with
// all that is to know of the group.
func (p *Person) Adds(other *Person) types.MessageID {
	if other.number == 0 {
		return p.announce(waBinary.Node{Tag: "create", Content: p.server.groupInfo()})
	}
	return p.announce(membership("add", other))
}

// Removes notifies the device that the person has removed a member from the group; themselves: they have left.
func (p *Person) Removes(other *Person) types.MessageID {
	return p.announce(membership("remove", other))
}

func membership(change string, of *Person) waBinary.Node {
	return waBinary.Node{
		Tag: change, Attrs: waBinary.Attrs{},
		Content: []waBinary.Node{{Tag: "participant", Attrs: waBinary.Attrs{"jid": of.LID, "phone_number": of.PN}}},
	}
}

// announce notifies the device of a change of the group. Like a message it comes again until it is acknowledged.
func (p *Person) announce(change waBinary.Node) types.MessageID {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	p.said++
	d := &delivery{from: p, to: s.group, id: fmt.Sprintf("CHANGE%04d%08d", p.number, p.said)}
	if change.Attrs != nil {
		change.Attrs["v_id"] = d.id // Another one for each change.
	}
	d.stanza = &waBinary.Node{
		Tag: "notification",
		Attrs: waBinary.Attrs{
			"id": d.id, "from": s.group, "type": "w:gp2", "t": time.Now().Unix(), "participant": p.LID, "participant_pn": p.PN, "notify": p.Name,
		},
		Content: []waBinary.Node{change},
	}
	s.enqueue(d)
	return d.id
}
