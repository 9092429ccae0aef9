package protocol

// The functions below make what is written to the CLI's stdin, a line of JSON each.

// UserMessage is a message under an id, which the CLI runs once.
func UserMessage(uuid, text string) any {
	return map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": text}}
}

// ControlRequest asks something of the CLI, which answers under the request's id.
func ControlRequest(id string, body map[string]any) any {
	return map[string]any{"type": "control_request", "request_id": id, "request": body}
}

// CancelRequest takes a request back.
func CancelRequest(id string) any {
	return map[string]any{"type": "control_cancel_request", "request_id": id}
}

// ControlResponse answers a request of the CLI's.
func ControlResponse(id string, body any) any {
	return response(map[string]any{"subtype": "success", "request_id": id, "response": body})
}

// ControlError refuses a request of the CLI's.
func ControlError(id, failure string) any {
	return response(map[string]any{"subtype": "error", "request_id": id, "error": failure})
}

func response(body map[string]any) any {
	return map[string]any{"type": "control_response", "response": body}
}
