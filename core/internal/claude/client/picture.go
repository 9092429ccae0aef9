package client

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// errTooLarge: the file has grown beyond the bound.
var errTooLarge = errors.New("it is too large")

// read reads a picture, if it is within its bound.
func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a picture: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, agent.MaxPicture+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a picture: %w", err)
	case len(data) == 0, len(data) > agent.MaxPicture:
		return nil, fmt.Errorf("read a picture: %w", errTooLarge)
	}
	return data, nil
}
