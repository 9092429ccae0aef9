package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// mediaStore is the host's store of files, in a folder.
type mediaStore struct {
	dir   string
	begun chan struct{} // holds one for each of the first uploads that began
}

func (s mediaStore) Upload(_ context.Context, m chat.Media, r io.Reader) (chat.Media, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return chat.Media{}, err
	}
	m.Ref, m.Size = chat.MediaRef(uuid.NewString()), int64(len(content))
	header, err := json.Marshal(m)
	return m, errors.Join(err, os.MkdirAll(s.dir, 0o700),
		os.WriteFile(s.path(m.Ref, "content"), content, 0o600), os.WriteFile(s.path(m.Ref, "header"), header, 0o600))
}

func (s mediaStore) Download(_ context.Context, ref chat.MediaRef) (m chat.Media, _ io.ReadCloser, err error) {
	header, err := os.ReadFile(s.path(ref, "header"))
	if errors.Is(err, os.ErrNotExist) {
		return m, nil, sdk.ErrNotFound
	}
	if err := errors.Join(err, json.Unmarshal(header, &m)); err != nil {
		return m, nil, err
	}
	content, err := os.Open(s.path(ref, "content"))
	return m, content, err
}

func (s mediaStore) path(ref chat.MediaRef, part string) string {
	return filepath.Join(s.dir, filepath.Base(string(ref))+"."+part)
}
