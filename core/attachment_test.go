package core

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: file-type, file-inbound, file-database.
func TestAttachment(t *testing.T) {
	t.Parallel()
	h := &Host{log: hclog.NewNullLogger(), config: &config.Config{
		StateDir: t.TempDir(), Agent: config.Agent{Workspace: t.TempDir()}, Media: config.Media{MaxBytes: 1 << 20},
	}}
	s, err := store.Open(t.Context(), filepath.Join(h.config.StateDir, "clawhost.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	h.media = newAttachments(h.config, s, nil, h.mediaDir(), t.TempDir(), nil, h.log)
	kept, err := h.media.files.Put(t.Context(), "telegram", chat.Media{Kind: chat.Image}, bytes.NewReader([]byte("%PDF-1.7\n")))
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[chat.MediaRef]string{
		kept.Ref:                  filepath.Join(h.config.Agent.Workspace, "inbound", string(kept.Ref)+".pdf"),
		"gone":                    "",
		"..":                      "",
		"../telegram/" + kept.Ref: "",
		"/etc/passwd":             "",
	} {
		shown, path, err := h.media.inbound[""].Show(t.Context(), "telegram", chat.Media{Ref: ref, Kind: chat.Image, MIMEType: "image/jpeg"})
		if path != want || (err == nil) != (want != "") {
			t.Errorf("%q is at %q, want %q: %v", ref, path, want, err)
		}
		if want != "" && (shown.Kind != chat.File || shown.MIMEType != "application/pdf") {
			t.Errorf("%q is a %v, %s", ref, shown.Kind, shown.MIMEType)
		}
	}
	if _, path, err := h.media.inbound[""].Show(t.Context(), "discord", kept); path != "" || err == nil {
		t.Errorf("another channel's is at %q", path)
	}
	if err := h.media.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	for want, place := range []string{"folder", "database"} {
		h.config.Media.Store = place
		media := newAttachments(h.config, s, nil, h.mediaDir(), t.TempDir(), nil, h.log)
		if _, err := media.files.Put(t.Context(), "telegram", chat.Media{}, bytes.NewReader([]byte("tea"))); err != nil {
			t.Fatal(err)
		}
		if uses, err := s.ContentUse(t.Context()); err != nil || uses["telegram"].Files != int64(want) {
			t.Errorf("with files in the %s, the database has %+v, %v", place, uses, err)
		}
	}
}
