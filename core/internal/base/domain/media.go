package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Extract is the text of a file or a page, as a program returned it.
type Extract struct {
	Text    string
	Failure string // why there is no text, for the agent; empty on success
}

// FetchedRef returns the ref of a file that was fetched by a token: it is derived from the token, so that it need not be
// stored.
func FetchedRef(token chat.FileToken) chat.MediaRef {
	sum := sha256.Sum256([]byte(token))
	return chat.MediaRef("f" + hex.EncodeToString(sum[:16]))
}

// ChunkBytes is the size of the chunks in which the content of a file is stored in the database, of which the last one is smaller.
const ChunkBytes = 1 << 20

// Content is the content of a file in the database.
type Content struct {
	Name   string // of its chunks: one content has the same name for good
	Size   int64
	Digest string    // SHA-256, in hexadecimal
	At     time.Time // when the file was recorded
}

// StoredFile is a file whose content is in the database.
type StoredFile struct {
	Instance string
	Ref      chat.MediaRef
	Size     int64
	At       time.Time
}

// ContentUse is what the contents of a plugin instance's files take up in the database.
type ContentUse struct{ Files, Bytes int64 }
