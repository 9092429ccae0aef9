// Command artist has a tool that draws: a picture of so many pixels a side, under whatever type. What it tells the host of it is
// its size.
package main

import (
	"bytes"
	"context"
	"image"
	"image/png"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// artist keeps its pictures in the host.
type artist struct{ media sdk.Media }

type drawing struct {
	Side int    `json:"side"`
	Type string `json:"type,omitempty"`
	Text string `json:"text,omitempty"` // in the place of a picture
}

func main() {
	sdk.Serve("artist", "1.0.0", sdk.Service(func(_ context.Context, env sdk.Env, _ struct{}) (*artist, error) {
		return &artist{env.Media}, nil
	}))
}

// Tools returns the tool.
func (a *artist) Tools() []sdk.AgentTool {
	return []sdk.AgentTool{
		sdk.Tool("draw", "Draws a picture.", a.draw),
		sdk.Tool("dawdle", "Answers when it is given up.", func(ctx context.Context, _ sdk.ToolCall, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}),
	}
}

func (a *artist) draw(ctx context.Context, _ sdk.ToolCall, d drawing) (sdk.ToolResult, error) {
	picture := image.NewGray(image.Rect(0, 0, d.Side, d.Side))
	content := bytes.NewBufferString(d.Text)
	if d.Text == "" {
		if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(content, picture); err != nil {
			return sdk.ToolResult{}, err
		}
	}
	size := content.Len()
	m := chat.Media{Kind: chat.Image, MIMEType: "image/png", FileName: "a.png"}
	stored, err := a.media.Upload(ctx, m, content)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	stored.Kind, stored.MIMEType = chat.Image, "image/png" // what it says of it, whatever the host has found
	if d.Type != "" {
		stored.MIMEType = d.Type
	}
	return sdk.ToolResult{Text: "drawn", Media: []chat.Media{stored}, Details: map[string]int{"bytes": size}}, nil
}
