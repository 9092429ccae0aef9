package main

// together returns how many of the updates, from the first on, are one message: each file of an album is an update of its
// own, and they are consecutive.
func together(updates []received) int {
	first := albumOf(updates[0])
	n := 1
	for first.id != "" && n < min(len(updates), maxAlbum) && albumOf(updates[n]) == first {
		n++
	}
	return n
}

// isAlbum reports whether the updates are files of one album and nothing else.
func isAlbum(updates []received) bool {
	return len(updates) == together(updates) && albumOf(updates[0]).id != ""
}

// mediaGroup is Telegram's id of an album, with its chat.
type mediaGroup struct {
	chat int64
	id   string // empty: none
}

func albumOf(u received) mediaGroup {
	if m := u.Message; u.unreadable == nil && m != nil && m.Chat != nil {
		return mediaGroup{chat: m.Chat.ID, id: m.MediaGroupID}
	}
	return mediaGroup{}
}
