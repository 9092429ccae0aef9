package main

// together is how many of the updates, from the first on, are one message: each file of an album comes in an update of its
// own, with nothing in between.
func together(updates []received) int {
	first := albumOf(updates[0])
	n := 1
	for first.id != "" && n < min(len(updates), maxAlbum) && albumOf(updates[n]) == first {
		n++
	}
	return n
}

// isAlbum tells whether the updates are files of one album and nothing else.
func isAlbum(updates []received) bool {
	return len(updates) == together(updates) && albumOf(updates[0]).id != ""
}

// mediaGroup names an album as Telegram does.
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
