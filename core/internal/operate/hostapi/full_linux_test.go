package hostapi_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
)

// When the host's disk is full a plugin gets an error that says to try again later; its partial data is deleted, and there
// is space again for what comes later. The operator is notified once.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := os.Mkdir(b.media, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("none", b.media, "tmpfs", 0, "size=128k,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("mounting needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(b.media, syscall.MNT_DETACH) })
	conn := b.connect(t, "echo")
	const filler = "filler"
	if err := os.WriteFile(filepath.Join(b.media, filler), make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := upload(t.Context(), t, conn, header(nil), chunk(bytes.Repeat([]byte("x"), 60<<10)))
		wantCode(t, err, codes.Unavailable)
		if err == nil || !strings.Contains(err.Error(), "the host's disk is full") {
			t.Errorf("the error is %v", err)
		}
	}
	if logged := strings.Count(b.log.String(), "the disk is full"); logged != 1 {
		t.Errorf("it was logged %d times, want once:\n%s", logged, b.log)
	}
	if err := os.Remove(filepath.Join(b.media, filler)); err != nil {
		t.Fatal(err)
	}
	if _, err := upload(t.Context(), t, conn, header(nil), chunk(bytes.Repeat([]byte("x"), 60<<10))); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if files := b.files(t); len(files) != 1 {
		t.Errorf("left are %v, want the one file", files)
	}
}
