package whatsapptest

import (
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// Album has the person send files as an album: a message that says how many there are, and one for each, wrapped as phones
// do it. In is the group, or empty for the direct chat. It returns the ids, the first of them the album's.
func (p *Person) Album(in types.JID, files ...*waE2E.Message) []types.MessageID {
	ids := []types.MessageID{p.Announce(in, len(files))}
	for i, file := range files {
		child := OfAlbum(ids[0], i, file)
		ids = append(ids, p.post(in, &waE2E.Message{
			AssociatedChildMessage: &waE2E.FutureProofMessage{Message: child}, MessageContextInfo: child.MessageContextInfo,
		}))
	}
	return ids
}

// Announce has the person begin an album of so many images; [OfAlbum] makes them.
func (p *Person) Announce(in types.JID, images int) types.MessageID {
	return p.post(in, &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{ExpectedImageCount: proto.Uint32(uint32(images))}})
}

// OfAlbum makes a file's message one of an album's.
func OfAlbum(album types.MessageID, index int, file *waE2E.Message) *waE2E.Message {
	file.MessageContextInfo = &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{
		AssociationType:  waE2E.MessageAssociation_MEDIA_ALBUM.Enum(),
		ParentMessageKey: &waCommon.MessageKey{FromMe: proto.Bool(true), ID: proto.String(album)},
		MessageIndex:     proto.Int32(int32(index)),
	}}
	return file
}

// albumOf is the album that phones show a file in: one that was announced before.
func (s *Server) albumOf(file *waE2E.Message) (id types.MessageID, size int) {
	bond := file.GetMessageContextInfo().GetMessageAssociation()
	id = bond.GetParentMessageKey().GetID()
	if bond.GetAssociationType() != waE2E.MessageAssociation_MEDIA_ALBUM || s.albums[id] == 0 {
		return "", 0
	}
	return id, s.albums[id]
}
