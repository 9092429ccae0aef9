package protocol

// The functions below make the CLI's input, one JSON value a line.

// Image is a picture within a message.
type Image struct {
	Type string // such as image/png
	Data []byte
}

// UserMessage is a message with an id, which the CLI runs once.
func UserMessage(uuid, text string, images ...Image) any {
	content := any(text)
	if len(images) > 0 {
		blocks := []any{map[string]any{"type": "text", "text": text}}
		for _, image := range images {
			blocks = append(blocks, map[string]any{
				"type":   "image",
				"source": map[string]any{"type": "base64", "media_type": image.Type, "data": image.Data},
			})
		}
		content = blocks
	}
	return map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": content}}
}

// ControlRequest is a request to the CLI, which answers with the request's id.
func ControlRequest(id string, body map[string]any) any {
	return map[string]any{"type": "control_request", "request_id": id, "request": body}
}

// CancelRequest withdraws a request.
func CancelRequest(id string) any {
	return map[string]any{"type": "control_cancel_request", "request_id": id}
}

// ControlResponse answers a request of the CLI.
func ControlResponse(id string, body any) any {
	return response(map[string]any{"subtype": "success", "request_id": id, "response": body})
}

// ControlError refuses a request of the CLI.
func ControlError(id, failure string) any {
	return response(map[string]any{"subtype": "error", "request_id": id, "error": failure})
}

func response(body map[string]any) any {
	return map[string]any{"type": "control_response", "response": body}
}
