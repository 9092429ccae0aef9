package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// tokenPattern matches tokens that need no escaping in a URL's fragment or a header, and are hard to guess.
var tokenPattern = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,256}$`)

var errToken = errors.New(`a token has 16 to 256 letters, digits, ".", "_", "~" or "-"; if left out, one is generated`)

// ownToken returns the token stored in the folder, and generates one of 32 random bytes the first time.
func ownToken(dir string) (string, error) {
	path := filepath.Join(dir, "token")
	kept, err := os.ReadFile(path)
	if err == nil {
		token := strings.TrimSpace(string(kept))
		if !tokenPattern.MatchString(token) {
			return "", fmt.Errorf("%s contains no token: delete it to generate a new one", path)
		}
		return token, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read token: %w", err)
	}
	random := make([]byte, 32)
	rand.Read(random)
	token := base64.RawURLEncoding.EncodeToString(random)
	file, err := replaceFile(path, []byte(token+"\n"))
	if err != nil {
		return "", fmt.Errorf("store token: %w", err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("store token: %w", err)
	}
	return token, nil
}
