package protocol

// The functions below make the CLI's input, one JSON value a line.

// UserMessage is a message with an id, which the CLI runs once.
func UserMessage(uuid, text string) any {
	return map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": text}}
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
