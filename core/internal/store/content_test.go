package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// putContent stores a content of some parts of one byte, and records it as a file.
func (b *bundle) putContent(t *testing.T, instance string, ref chat.MediaRef, content string, parts int) {
	t.Helper()
	for part := range parts {
		if err := b.PutChunk(b.ctx, instance, content, part, []byte{byte(part)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.PutContent(b.ctx, instance, chat.Media{Ref: ref, FileName: "a.txt"}, domain.Content{Name: content, Size: int64(parts), Digest: "d"}); err != nil {
		t.Fatal(err)
	}
}

// parts counts the chunks of a content.
func (b *bundle) parts(t *testing.T, instance, content string) (n int) {
	t.Helper()
	for part := range 100 {
		if _, err := b.Chunk(b.ctx, instance, content, part); err == nil {
			n++
		} else if !errors.Is(err, domain.ErrNotFound) {
			t.Fatal(err)
		}
	}
	return n
}

func (b *bundle) uses(t *testing.T, when string, want ...string) {
	t.Helper()
	all, err := b.ContentUse(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for instance, u := range all {
		got = append(got, fmt.Sprintf("%s: %d files, %d bytes", instance, u.Files, u.Bytes))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// A content is the file's once it is recorded as a whole, and only the instance's.
func TestContentIsRecordedAsAWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	most := bytes.Repeat([]byte{7}, domain.ChunkBytes)
	for part, chunk := range [][]byte{most, {1, 2}} {
		if err := b.PutChunk(b.ctx, "telegram", "x", part, chunk); err != nil {
			t.Fatal(err)
		}
	}
	m := chat.Media{Ref: "r", Kind: chat.Image, MIMEType: "image/png", FileName: "a b.png", Size: domain.ChunkBytes + 2}
	for _, size := range []int64{domain.ChunkBytes + 1, domain.ChunkBytes + 3} {
		if err := b.PutContent(b.ctx, "telegram", m, domain.Content{Name: "x", Size: size}); err == nil {
			t.Errorf("%d bytes are recorded", size)
		}
	}
	if _, err := b.Media(b.ctx, "telegram", "r"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("before it is recorded: %v", err)
	}
	want := domain.Content{Name: "x", Size: domain.ChunkBytes + 2, Digest: "d", At: b.clock.Now()}
	if err := b.PutContent(b.ctx, "telegram", m, want); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	if got, err := b.Content(b.ctx, "telegram", "r"); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := b.Media(b.ctx, "telegram", "r"); got != m || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, m)
	}
	for part, chunk := range [][]byte{most, {1, 2}} {
		if got, err := b.Chunk(b.ctx, "telegram", "x", part); !bytes.Equal(got, chunk) || err != nil {
			t.Errorf("part %d has %d bytes, %v", part, len(got), err)
		}
	}
	if _, err := b.Content(b.ctx, "discord", "r"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another instance: %v", err)
	}
	if _, err := b.Chunk(b.ctx, "discord", "x", 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another instance's part: %v", err)
	}
	for name, err := range map[string]error{
		"a part twice":           b.PutChunk(b.ctx, "telegram", "x", 1, []byte("y")),
		"an empty part":          b.PutChunk(b.ctx, "telegram", "y", 0, nil),
		"a large part":           b.PutChunk(b.ctx, "telegram", "y", 0, append(most, 1)),
		"a part without content": b.PutChunk(b.ctx, "telegram", "", 0, []byte("y")),
		"no ref":                 b.PutContent(b.ctx, "telegram", chat.Media{}, want),
		"no content":             b.PutContent(b.ctx, "telegram", m, domain.Content{}),
	} {
		if err == nil {
			t.Errorf("%s is stored", name)
		}
	}
	if err := b.PutMedia(b.ctx, "telegram", chat.Media{Ref: "folder"}, start); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Content(b.ctx, "telegram", "folder"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a file in the folder: %v", err)
	}
	b.uses(t, "at the end", fmt.Sprintf("telegram: 1 files, %d bytes", domain.ChunkBytes+2))
}

// A content that was not recorded is deleted a day after its last part; one that was replaced a day after that.
func TestLeftoversAreDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(part int) {
		t.Helper()
		if err := b.PutChunk(b.ctx, "telegram", "broken", part, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	b.clock.Advance(12 * time.Hour)
	put(1)
	b.putContent(t, "telegram", "r", "first", 40)
	b.putContent(t, "telegram", "r", "second", 2)
	b.putContent(t, "telegram", "empty", "none", 0)
	b.clock.Advance(24*time.Hour - time.Second)
	b.purge(t)
	if broken, first := b.parts(t, "telegram", "broken"), b.parts(t, "telegram", "first"); broken != 2 || first != 40 {
		t.Errorf("within a day: %d and %d parts are left", broken, first)
	}
	b.uses(t, "within a day", "telegram: 2 files, 44 bytes")
	b.clock.Advance(time.Second)
	b.purge(t)
	if broken, first, second := b.parts(t, "telegram", "broken"), b.parts(t, "telegram", "first"), b.parts(t, "telegram", "second"); broken+first != 0 || second != 2 {
		t.Errorf("after a day: %d and %d parts are left, %d of the file", broken, first, second)
	}
	b.uses(t, "after a day", "telegram: 2 files, 2 bytes")
	if err := b.PutContent(b.ctx, "telegram", chat.Media{Ref: "late"}, domain.Content{Name: "broken", Size: 2}); err == nil {
		t.Error("what was deleted is recorded")
	}
	if err := b.PutContent(b.ctx, "telegram", chat.Media{Ref: "r"}, domain.Content{Name: "second", Size: 2}); err != nil {
		t.Errorf("recorded again: %v", err)
	}
	b.clock.Advance(48 * time.Hour)
	b.purge(t)
	if second := b.parts(t, "telegram", "second"); second != 2 {
		t.Errorf("what was recorded twice has %d parts", second)
	}
}

// The contents of files expire with their descriptions.
func TestContentsExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	purge := func(age time.Duration) {
		t.Helper()
		if err := b.Purge(b.ctx, store.Ages{Media: age}); err != nil {
			t.Fatal(err)
		}
	}
	b.putContent(t, "telegram", "old", "o", 20)
	b.clock.Advance(time.Hour)
	b.putContent(t, "telegram", "new", "n", 1)
	b.clock.Advance(47 * time.Hour)
	purge(-1)
	purge(48*time.Hour + time.Second)
	if parts := b.parts(t, "telegram", "o"); parts != 20 {
		t.Errorf("before it expires, %d parts are left", parts)
	}
	purge(48 * time.Hour)
	if _, err := b.Content(b.ctx, "telegram", "old"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the old one: %v", err)
	}
	if o, n := b.parts(t, "telegram", "o"), b.parts(t, "telegram", "n"); o != 0 || n != 1 {
		t.Errorf("%d parts of the old one are left, %d of the new one", o, n)
	}
	b.uses(t, "at the end", "telegram: 1 files, 1 bytes")
}

func TestDropContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 7 { // as many as the steps delete of some, and one more or less
		ref := chat.MediaRef(fmt.Sprint(i))
		b.putContent(t, "telegram", ref, string(ref)+"c", 14+i)
		if err := b.DropContent(b.ctx, "discord", ref, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Content(b.ctx, "telegram", ref); err != nil {
			t.Errorf("another instance has deleted it: %v", err)
		}
		for range 2 {
			if err := b.DropContent(b.ctx, "telegram", ref, ""); err != nil {
				t.Fatal(err)
			}
		}
		if parts := b.parts(t, "telegram", string(ref)+"c"); parts != 0 {
			t.Errorf("%d parts are left", parts)
		}
	}
	if err := b.PutMedia(b.ctx, "telegram", chat.Media{Ref: "folder"}, start); err != nil {
		t.Fatal(err)
	}
	if err := b.DropContent(b.ctx, "telegram", "folder", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Media(b.ctx, "telegram", "folder"); err != nil {
		t.Errorf("a file in the folder: %v", err)
	}
	b.putContent(t, "telegram", "r", "new", 2)
	if err := b.PutChunk(b.ctx, "telegram", "failed", 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	b.uses(t, "before a content is dropped", "telegram: 1 files, 3 bytes")
	if err := b.DropContent(b.ctx, "telegram", "r", "failed"); err != nil {
		t.Fatal(err)
	}
	if c, err := b.Content(b.ctx, "telegram", "r"); err != nil || c.Name != "new" {
		t.Errorf("the file that has another content: %+v, %v", c, err)
	}
	b.uses(t, "after that", "telegram: 1 files, 2 bytes")
	if err := b.DropContent(b.ctx, "telegram", "r", "new"); err != nil {
		t.Fatal(err)
	}
	b.uses(t, "at the end", "telegram: 0 files, 0 bytes")
}

func TestOldestContents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, f := range []string{"discord/3", "telegram/1", "telegram/2", "discord/1", "telegram/9"} {
		instance, ref, _ := strings.Cut(f, "/")
		if ref == "1" {
			b.clock.Advance(time.Second)
		}
		b.putContent(t, instance, chat.MediaRef(ref), ref, 1)
	}
	if err := b.PutMedia(b.ctx, "telegram", chat.Media{Ref: "folder"}, start); err != nil {
		t.Fatal(err)
	}
	for instance, want := range map[string]string{
		"": "discord/3 telegram/1 telegram/2 discord/1 telegram/9", "telegram": "telegram/1 telegram/2 telegram/9", "discord": "discord/3 discord/1", "signal": "",
	} {
		var got []string
		var after domain.StoredFile
		for range 7 {
			list, err := b.OldestContents(b.ctx, instance, after, 2)
			if err != nil || len(list) > 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			for _, f := range list {
				got = append(got, f.Instance+"/"+string(f.Ref))
				after = f
			}
			if len(list) == 0 {
				break
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %q: %q, want %q", instance, got, want)
		}
	}
}

// What is forgotten of a person takes the files of their channels with it, but for needed ones.
// Behaviour: forget.
func TestForgetDeletesContents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const token chat.FileToken = "wanted"
	b.putContent(t, "telegram", "a", "gone", 20)
	b.putContent(t, "telegram", domain.FetchedRef(token), "needed", 2)
	b.putContent(t, "discord", "a", "other", 3)
	in := inbound("bert", 1)
	in.Message.Media = []chat.Media{{Token: token}}
	b.accept(t, in)
	who := store.Person{Users: []store.PersonUser{{Channel: "telegram", ID: "anna"}}}
	for _, dry := range []bool{true, false} {
		found, err := b.Forget(b.ctx, who, dry)
		if err != nil || found.Rows["media"] != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		want := map[bool]int{true: 20, false: 0}[dry]
		if gone, needed, other := b.parts(t, "telegram", "gone"), b.parts(t, "telegram", "needed"), b.parts(t, "discord", "other"); gone != want || needed != 2 || other != 3 {
			t.Errorf("only counted: %v; %d, %d and %d parts are left", dry, gone, needed, other)
		}
	}
	b.uses(t, "at the end", "discord: 1 files, 3 bytes", "telegram: 1 files, 2 bytes")
}
