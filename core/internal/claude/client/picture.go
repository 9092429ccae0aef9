package client

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// say writes a message with its pictures. One that cannot be read is left out: the text has its path.
func (c *Client) say(l agent.Line) {
	var images []protocol.Image
	for _, p := range l.Pictures[:min(len(l.Pictures), agent.MaxPictures)] {
		data, err := read(p.Path)
		if err != nil {
			c.log.Warn("a picture is not shown to claude with its message", "error", err)
			continue
		}
		images = append(images, protocol.Image{Type: p.Type, Data: data})
	}
	c.process.Send(protocol.UserMessage(l.UUID, l.Text, images...))
}

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
